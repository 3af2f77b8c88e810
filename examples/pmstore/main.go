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
	"strings"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	pcptool.LimitMemory()
	j := &job{}
	c := j.command()
	os.Exit(c.Report(run(context.Background(), c, j)))
}

// run stores the value of the command line.
func run(ctx context.Context, c *pcptool.Command, j *job) error {
	args, err := c.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	if len(args) != 2 {
		return c.UsageErrorf("")
	}
	j.metric, j.text = args[0], args[1]
	pc, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer pc.Close()
	out := bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))
	defer out.Flush()
	err = j.run(ctx, pc, out)
	if err == nil {
		return nil
	}
	e := &pcptool.ExitError{Status: 1, Err: err}
	if _, ok := errors.AsType[argumentError](err); ok {
		e.Message = err.Error() + "\n"
	} else {
		fmt.Fprintln(out, err) // pmstore(1) prints other errors on standard output
	}
	return pcptool.WithHint(e, c.NameHint(ctx, pc, j.metric, err))
}

func (j *job) command() *pcptool.Command {
	c := &pcptool.Command{Name: "pmstore", Synopsis: "[options] metricname value", InOrder: true,
		Local: dso.Local("pmstore"), LocalError: "Cannot make standalone local connection"}
	c.AddOptions("General options", c.Standard("debug", "host", "local-PMDA", "spec-local", "namespace", "version", "help")...)
	c.AddOptions("Value options",
		tool.Option{Short: 'F', Long: "fetch", Help: "perform pmFetch after pmStore to confirm value", Set: tool.Flag(&j.fetch)},
		tool.Option{Short: 'f', Long: "force", Help: "store the value even if there is no current value set", Set: tool.Flag(&j.force)},
		tool.Option{Short: 'i', Long: "insts", Arg: "INSTS", Help: "restrict store to comma-separated list of instances",
			Set: func(v string) error {
				j.insts = append(j.insts, strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(", \t", r) })...)
				return nil
			}})
	return c
}
