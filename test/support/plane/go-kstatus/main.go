// Prints what kstatus says of the objects on its standard input: one JSON object in a line, one line of an answer each.
// Flux and others wait for objects by this library.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(lines.Bytes(), object); err != nil {
			fail(err)
		}
		result, err := status.Compute(object)
		if err != nil {
			fail(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"status": result.Status.String(), "message": result.Message}); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
