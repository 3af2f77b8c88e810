// Pcp-vmstat runs "pmstat -x" with the interval and the number of samples of its arguments.
// Arguments, output and exit status are those of pcp-vmstat of PCP, which "pcp vmstat" runs.
package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/launch"
)

const usage = "Usage: pcp-vmstat [delta [samples]]\n"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) (status int) {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		if args[0] != "--" {
			fmt.Fprint(os.Stderr, usage)
			return 1
		}
		args = args[1:]
	}
	if len(args) > 2 {
		fmt.Fprint(os.Stderr, "Too many arguments\n", usage)
		return 2
	}
	for i, value := range args {
		os.Setenv([]string{"PCP_INTERVAL", "PCP_SAMPLES"}[i], value)
	}
	status, err := launch.Run(cmp.Or(launch.Beside("pmstat"), launch.InPath("pmstat")), "-x")
	if err != nil {
		fmt.Fprintf(os.Stderr, "pcp-vmstat: pmstat: %v\n", err)
	}
	return status
}
