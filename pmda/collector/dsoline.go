package collector

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// startDSO hosts the agent in this process that a "dso" line names.
func (s *Server) startDSO(conf pmcdconf.Agent) error {
	h, err := s.DSO[conf.Entry](conf.Domain)
	if err == nil {
		err = s.addHandler(h, conf)
	}
	if err != nil && err != errClosed {
		s.log.Error("agent not started", slog.String("agent", conf.Name), slog.Int("domain", int(conf.Domain)), slog.Any("err", err))
	}
	return err
}

// daemonOfDSO returns the path of the program that is the same agent as a shared object: pmdaNAME
// beside pmda_NAME.so with the entry point NAME_init. It is empty for other entry points. For an
// object with several entry points, such as pmda_mmv.so, it is the program of one of them.
func daemonOfDSO(conf pmcdconf.Agent) string {
	name, ok := strings.CutSuffix(conf.Entry, "_init")
	dir, object := filepath.Split(conf.Path)
	if !ok || object != "pmda_"+name+".so" {
		return ""
	}
	return dir + "pmda" + name
}

// programOfDSO returns the command that runs the program of daemonOfDSO, or nil if the program does
// not exist. The log is named after the line, because the program may also run for another line.
func programOfDSO(conf pmcdconf.Agent) []string {
	program := daemonOfDSO(conf)
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil
	}
	return []string{program, "-d", strconv.Itoa(int(conf.Domain)), "-l", conf.Name + ".log"}
}

// unknownEntry returns the error for a "dso" line whose entry point is not in DSO, and whose shared
// object has no program beside it.
func (s *Server) unknownEntry(conf pmcdconf.Agent) error {
	known := "none"
	if len(s.DSO) > 0 {
		known = strings.Join(slices.Sorted(maps.Keys(s.DSO)), ", ")
	}
	reason := fmt.Sprintf("no agent in this program has the entry point %q (it knows: %s)", conf.Entry, known)
	if program := daemonOfDSO(conf); program != "" {
		reason += fmt.Sprintf(", and %s is no program that can run", program)
	}
	return fmt.Errorf("%s; a program of the agent needs the line %q", reason, fmt.Sprintf("%s %d pipe binary PROGRAM", conf.Name, conf.Domain))
}

// labelsOfDSO completes the labels that the program of a "dso" line returns. An agent in a shared
// object may lack labels. In that case pmcd uses one label of the domain, "agent", and returns no
// error for the other classes.
func (a *agent) labelsOfDSO(class pdu.LabelClass, sets []pdu.LabelSet, err error) ([]pdu.LabelSet, error) {
	if a.conf.Kind != "dso" || a.local != nil || !errors.Is(err, pdu.ErrNoLabels) && (err != nil || len(sets) > 0) {
		return sets, err
	}
	if class != pdu.LabelDomain {
		return nil, nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(a.name(), "pmda"), " DSO")
	set, err := pdu.MakeLabels(class, map[string]string{"agent": name}, false)
	return []pdu.LabelSet{set}, err
}
