package dbpmda

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A debugger is the state that the commands share.
type debugger struct {
	in     input
	out    *lineWriter
	errors io.Writer

	names     *pmns.Tree
	namesFile string // that of the last command namespace, even if it failed; at first given
	given     string // that of the option -n; empty for the installed one

	agent     *agent // nil if none is open
	selection selection
	selected  bool // selection has changed since the agent was told
	timeout   int  // seconds that an agent has to send its version

	timer, getDesc, getNames bool
	trace                    trace
}

func newDebugger(out, errors io.Writer) *debugger {
	d := &debugger{out: newLineWriter(terminal.NewEscapeWriter(out)), errors: errors}
	d.in.out, d.in.echoed = d.out, out
	d.trace = trace{print: d.warn, on: map[string]bool{}}
	return d
}

// loadNames reads a name space. If that fails, it returns the messages of PCP's tool.
func (d *debugger) loadNames(file string) (messages string) {
	names, err := pmns.Load(file)
	if err == nil {
		d.names = names
		return ""
	}
	shown := file
	if file == "" {
		shown = pmns.DefaultFile()
	}
	cause, said := pdu.FromError(err), fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open \"%s\"", shown)
	if broken, ok := errors.AsType[*pmns.ParseError](err); ok {
		said = broken.Error()
	} else if info, err := os.Stat(file); err == nil && info.IsDir() { // PCP's preprocessor finds that out
		cause = pdu.ErrPMNS
		said = fmt.Sprintf("pmcpp: %s:\npmcpp: Error: No such file or directory\nError Parsing ASCII PMNS: pmcpp returned non-zero exit status", shown)
	}
	return fmt.Sprintf("%s\ndbpmda: Cannot load namespace from \"%s\": %v\n", said, shown, cause)
}

// namespace replaces the name space. If that fails it loads that of the option -n, as PCP's tool
// does.
func (d *debugger) namespace(file string) {
	d.namesFile = file
	messages := d.loadNames(file)
	if messages == "" {
		return
	}
	d.warn("%s", messages)
	if d.given == "" {
		d.warn("dbpmda: Reload default namespace\n")
	} else {
		d.warn("dbpmda: Reload namespace from \"%s\"\n", d.given)
	}
	d.warn("%s", d.loadNames(d.given)) // if that fails, the names stay as they are
}

// A complaint is an error with the text of PCP's tool.
type complaint string

func (c complaint) Error() string { return string(c) }

// Reasons why a name is not that of a metric.
const (
	errUnknownName = complaint("Unknown metric name")
	errNonLeaf     = complaint("Metric name is not a leaf in PMNS")
)

// lookup returns the PMID of a metric. The agent knows the names below dynamic roots.
func (d *debugger) lookup(name string) (pdu.PMID, error) {
	id, err := d.names.Lookup(name)
	switch {
	case errors.Is(err, pdu.ErrNonLeaf):
		return 0, errNonLeaf
	case err != nil:
		return 0, errUnknownName
	}
	if _, dynamic := id.IsDynamicRoot(); dynamic {
		return d.lookupDynamic(name)
	}
	return id, nil
}

// status prints the state.
func (d *debugger) status() {
	file := d.namesFile
	if file == "" {
		file = "(default)"
	}
	row := func(label string, value any) { d.printf("%-24s%v\n", label, value) }
	d.printf("\n")
	row("Namespace:", file)
	if a := d.agent; a == nil {
		row("PMDA:", "none")
	} else {
		row("PMDA:", a.name)
		if a.dso {
			row("Connection:", "dso")
			row("DSO Interface Version:", dsoInterface)
		} else {
			row("Connection:", fmt.Sprintf("daemon (pid: %d)", a.pid))
		}
		if a.version == 0 {
			row("PMDA PMAPI Version:", "unknown!")
		} else {
			row("PMDA PMAPI Version:", a.version)
		}
	}
	row("Debug options:", d.trace.String())
	onOff := map[bool]string{true: "on", false: "off"}
	row("Timer:", onOff[d.timer])
	row("Getdesc:", onOff[d.getDesc])
	row("Getiname:", onOff[d.getNames])
	d.printf("\n%s\n", d.selection.dump())
}

// watch opens a window that follows a file.
func (d *debugger) watch(file string) {
	cmd := exec.Command("xterm", "-title", "dbpmda log "+file, "-e", "tail", "-f", file)
	if err := cmd.Start(); err != nil {
		d.warn("dbpmda: %v\n", err)
		return
	}
	go cmd.Wait()
}
