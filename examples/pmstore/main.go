// Pmstore sets the values of a metric.
//
//	pmstore simple.numfetch 0
//	pmstore -i bin-100,bin-300 sample.bin 5
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	j := &job{}
	c := j.command()
	args := c.Parse(os.Args[1:])
	if len(args) != 2 {
		c.Usage("")
	}
	j.metric, j.text = args[0], args[1]
	ctx := context.Background()
	pc := c.Dial(ctx, c.Source())
	out := bufio.NewWriter(os.Stdout)
	err := j.run(ctx, pc, out)
	// What has failed is told on standard output, but for what the command line says.
	if _, ok := errors.AsType[badArgument](err); ok {
		fmt.Fprintln(os.Stderr, err)
	} else if err != nil {
		fmt.Fprintln(out, err)
	}
	out.Flush()
	if err != nil {
		os.Exit(1)
	}
}

func (j *job) command() *tool.Command {
	c := &tool.Command{Name: "pmstore", Synopsis: "[options] metricname value", InOrder: true}
	c.Options = slices.Concat(
		tool.Heading("General options"),
		c.Standard("debug", "host", "local-PMDA", "spec-local", "namespace", "version", "help"),
		tool.Heading("Value options"),
		[]getopt.Option{
			{Short: 'F', Long: "fetch", Help: "perform pmFetch after pmStore to confirm value", Set: tool.Flag(&j.fetch)},
			{Short: 'f', Long: "force", Help: "store the value even if there is no current value set", Set: tool.Flag(&j.force)},
			{Short: 'i', Long: "insts", Arg: "INSTS", Help: "restrict store to comma-separated list of instances",
				Set: func(v string) error {
					j.insts = append(j.insts, strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(", \t", r) })...)
					return nil
				}},
		})
	return c
}
