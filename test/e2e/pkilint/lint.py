# Runs pkilint over many files in one process: it takes longer to start than to lint.
# Reads `KIND PATH` line by line from its standard input, and prints a JSON list of findings for each.
import contextlib
import io
import json
import sys

from pkilint.bin import lint_crl, lint_ocsp_response, lint_pkix_cert

LINTERS = {
    "certificate": (lint_pkix_cert.main, []),
    "crl": (lint_crl.main, ["--type", "CRL", "--profile", "PKIX"]),
    "ocsp": (lint_ocsp_response.main, []),
}


def findings(kind, path):
    main, options = LINTERS[kind]
    output, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
        main(["lint", *options, "--severity", "NOTICE", "--format", "JSON", "--document-format", "DER", path])
    if complaints.getvalue() or not output.getvalue():
        return [{"id": "unreadable", "severity": "FATAL", "details": complaints.getvalue()}]
    return [
        {"id": found["code"], "severity": found["severity"], "details": f"{result['node_path']}: {found['message']}"}
        for result in json.loads(output.getvalue())["results"]
        for found in result["finding_descriptions"]
    ]


for line in sys.stdin:
    print(json.dumps(findings(*line.rstrip("\n").split(" ", 1))))
