module acmery-e2e-zlint

go 1.25.0

tool github.com/zmap/zlint/v3/cmd/zlint

require github.com/zmap/zlint/v3 v3.7.1 // indirect

require (
	github.com/pelletier/go-toml v1.9.5 // indirect
	github.com/sirupsen/logrus v1.9.4 // indirect
	github.com/weppos/publicsuffix-go v0.50.4-0.20260507075217-1bd47f85b3da // indirect
	github.com/zmap/zcrypto v0.0.0-20260514033604-a1159eb3cad9 // indirect
	golang.org/x/crypto v0.51.0 // indirect
	golang.org/x/net v0.54.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
	golang.org/x/text v0.37.0 // indirect
)
