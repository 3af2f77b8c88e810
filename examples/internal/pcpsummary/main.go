// Package pcpsummary prints the output of "pcp summary": which PCP a host runs or an archive is
// from, and on what hardware.
package pcpsummary

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// Run prints the summary of the source that the environment and the arguments name, and returns the
// exit status.
func Run(args []string) (status int) {
	own := &pcptool.Command{Name: "pcp-summary", Synopsis: "[options]", InOrder: true, NoEnvironment: true}
	engines := false
	set := func(name string) func(string) error {
		return func(value string) error { return os.Setenv(name, value) }
	}
	wrong := false
	own.Options = own.Standard("archive", "host", "origin", "namespace")
	for i, name := range []string{"PCP_ARCHIVE", "PCP_HOST", "PCP_ORIGIN_TIME", "PCP_NAMESPACE"} {
		own.Options[i].Set = set(name)
	}
	debug := tool.Option{Short: 'D', Help: "debug", Set: func(string) error { wrong = true; return nil }}
	own.Options = append(own.Options[:1], append([]tool.Option{debug}, own.Options[1:]...)...)
	own.Options = append(own.Options, tool.Option{Short: 'P', Long: "pmie", Help: "display pmie evaluation statistics", Set: tool.Flag(&engines)})
	own.Options = append(own.Options, own.Standard("help")...)
	if _, err := own.Parse(args); err != nil || wrong {
		fmt.Fprint(os.Stderr, own.Usage())
		return 2
	}
	ctx := context.Background()
	c := &pcptool.Command{Name: "pminfo", OriginOnly: true} // which PCP's command runs
	s, err := open(ctx, c)
	if err != nil {
		// The message of pminfo, without its name.
		text := err.Error() + "\n"
		if exit, ok := errors.AsType[*pcptool.ExitError](err); ok {
			var message strings.Builder
			c.Stderr = &message
			c.Report(exit)
			text = strings.TrimSuffix(message.String(), c.Usage())
		}
		fmt.Print(terminal.Escape("pcp-summary: " + strings.ReplaceAll(text, c.Name+": ", "")))
		return 1
	}
	defer s.pc.Close()
	s.fetch(ctx)
	out := bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))
	s.print(out, engines)
	if out.Flush() != nil {
		return 1
	}
	return 0
}

// A summary is a source and its metrics.
type summary struct {
	command *pcptool.Command
	pc      *pmapi.Context
	archive string // "" for a host
	host    string
	zone    string
	values  map[string][]value // of metrics
}

// A value is the value of an instance.
type value struct {
	inst pdu.InstID
	name string // of the instance
	text string
	atom pdu.Atom
	unit pdu.Units
}

func open(ctx context.Context, c *pcptool.Command) (*summary, error) {
	if _, err := c.Parse(nil); err != nil {
		return nil, err
	}
	pc, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	s := &summary{command: c, pc: pc, values: map[string][]value{}}
	kind, name := c.Source()
	label, err := pc.ArchiveLabel()
	switch {
	case err == nil:
		s.archive = name
		if hasLabel(name) {
			s.host, s.zone = label.Host, label.TimeZone
		}
		if err := c.SetTimes(ctx, pc); err != nil {
			pc.Close()
			return nil, err
		}
	case kind == pmapi.SourceHost && len(c.Hosts()) > 0:
		s.host = name
	}
	return s, nil
}

// hasLabel reports whether PCP's command, which runs pmdumplog -z, finds the label of an archive.
func hasLabel(name string) bool {
	info, err := os.Stat(name)
	_, zone := os.LookupEnv("PCP_TIMEZONE") // does not go with -z
	return !zone && !strings.Contains(name, ",") && (err != nil || !info.IsDir())
}

// names are the metrics of a summary.
var names = []string{"pmcd.hostname", "pmda.uname", "hinv.cputype", "hinv.ncpu", "hinv.ndisk", "hinv.nnode", "hinv.nrouter", "hinv.nxbow", "hinv.ncell",
	"hinv.physmem", "pmcd.timezone", "pmcd.services", "pmcd.version", "pmcd.build", "pmcd.numagents", "pmcd.numclients", "pmcd.agent.status",
	"pmcd.pmlogger.pmcd_host", "pmcd.pmlogger.archive", "pmcd.pmie.pmcd_host", "pmcd.pmie.logfile", "pmcd.pmie.configfile", "pmcd.pmie.numrules",
	"pmcd.pmie.eval.true", "pmcd.pmie.eval.false", "pmcd.pmie.eval.unknown", "pmcd.pmie.eval.expected", "pmcd.pmie.actions"}

// fetch fetches the metrics, in archives one by one. Metrics that fail have no values.
func (s *summary) fetch(ctx context.Context) {
	ids, _ := s.pc.Lookup(ctx, names)
	var batch []pdu.PMID
	var batchNames []string
	for i, id := range ids {
		if id == pdu.NoPMID {
			continue
		}
		batch, batchNames = append(batch, id), append(batchNames, names[i])
		if s.archive != "" {
			s.fetchSome(ctx, batch, batchNames)
			batch, batchNames = nil, nil
		}
	}
	if batch != nil {
		s.fetchSome(ctx, batch, batchNames)
	}
}

func (s *summary) fetchSome(ctx context.Context, ids []pdu.PMID, names []string) {
	descs, _ := s.pc.Descs(ctx, ids)
	var r pdu.Result
	if err := s.command.FetchAtOrigin(ctx, s.pc, ids, &r); err != nil {
		return
	}
	for i := range r.Len() {
		if i >= len(descs) || descs[i].PMID == pdu.NoPMID {
			continue
		}
		known := s.instances(ctx, descs[i].InDom)
		set := r.At(i)
		for k := range set.Len() {
			v := value{inst: set.Inst(k), atom: set.Atom(k, descs[i].Type), unit: descs[i].Units}
			v.name, _ = known.Name(v.inst)
			v.text = strings.Trim(pdu.ValueFormat{}.Format(v.atom), `"`)
			s.values[names[i]] = append(s.values[names[i]], v)
		}
	}
}

// instances returns the instances of a domain at the time of the values.
func (s *summary) instances(ctx context.Context, d pdu.InDom) pcptool.InstanceNames {
	if d == pdu.NoInDom {
		return pcptool.NewInstanceNames(nil)
	}
	insts, _ := s.pc.Instances(ctx, d) // unknown ones have no names
	return pcptool.NewInstanceNames(insts)
}
