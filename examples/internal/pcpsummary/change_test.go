package pcpsummary

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// writeChanging writes an archive of a host whose agents change, and returns its base name. Its
// memory has a unit.
func writeChanging(t *testing.T, memory uint64, unit pdu.Units) (base string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "a")
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	agents, loggers := pdu.MakeInDom(2, 1), pdu.MakeInDom(2, 3)
	items := 0
	add := func(name string, typ pdu.Type, u pdu.Units, d pdu.InDom) pdu.PMID {
		items++
		id := pdu.MakePMID(2, 0, items)
		desc := pdu.Desc{PMID: id, Type: typ, InDom: d, Sem: pdu.SemDiscrete, Units: u}
		err = errors.Join(err, w.WriteMetric(archive.Metric{Desc: desc, Names: []string{name}}))
		return id
	}
	host := add("pmcd.hostname", pdu.TypeString, pdu.NoUnits, pdu.NoInDom)
	cpus := add("hinv.ncpu", pdu.TypeDouble, pdu.NoUnits, pdu.NoInDom)
	disks := add("hinv.ndisk", pdu.TypeString, pdu.NoUnits, pdu.NoInDom)
	physmem := add("hinv.physmem", pdu.TypeU64, unit, pdu.NoInDom)
	status := add("pmcd.agent.status", pdu.Type32, pdu.NoUnits, agents)
	loggerHost := add("pmcd.pmlogger.pmcd_host", pdu.TypeString, pdu.NoUnits, loggers)
	loggerArchive := add("pmcd.pmlogger.archive", pdu.TypeString, pdu.NoUnits, loggers)
	for i, names := range []string{"root linux", "root linux", "root proc xfs", "root"} {
		at := time.Date(2026, 3, 1, 12, 0, 10*i, 0, time.UTC)
		agent := archive.InDomRecord{Time: at, InDom: agents}
		for id, name := range strings.Fields(names) {
			agent.Instances = append(agent.Instances, pdu.Instance{ID: pdu.InstID(id), Name: name})
		}
		logger := archive.InDomRecord{Time: at, InDom: loggers, Instances: []pdu.Instance{{ID: 0, Name: "primary"}, {ID: 100, Name: "100"}}}
		if i == 2 {
			logger.Instances[1] = pdu.Instance{ID: 200, Name: "200"}
		}
		s := pdu.ResultWriter{Time: at}
		s.Begin(host)
		s.String(pdu.NoInst, []string{"web1", "web1", "web2", "web2"}[i])
		s.Begin(cpus)
		s.Float64(pdu.NoInst, float64(i+1))
		s.Begin(disks)
		s.String(pdu.NoInst, "2")
		s.Begin(physmem)
		s.Uint64(pdu.NoInst, memory)
		s.Begin(status)
		for _, a := range agent.Instances {
			s.Int32(a.ID, int32(i))
		}
		s.Begin(loggerHost)
		for _, l := range logger.Instances {
			s.String(l.ID, "web1")
		}
		s.Begin(loggerArchive)
		for _, l := range logger.Instances {
			s.String(l.ID, "/var/log/"+l.Name)
		}
		err = errors.Join(err, w.WriteInDom(agent), w.WriteInDom(logger), w.WriteSets(&s))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return base
}

// summaryAt returns the summary of an archive at a time.
func summaryAt(t *testing.T, base, origin string) *summary {
	t.Helper()
	t.Setenv("PCP_ARCHIVE", base)
	t.Setenv("PCP_ORIGIN_TIME", origin)
	s, err := open(t.Context(), &pcptool.Command{Name: "pminfo", OriginOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.pc.Close()
	s.fetch(t.Context())
	return s
}

// TestChanging has the values and the names of instances of each time, as PCP's tool.
func TestChanging(t *testing.T) {
	base := writeChanging(t, 2048, pdu.SpaceMByte)
	for _, test := range []struct{ origin, hardware, agents, loggers string }{
		{"+0sec", "1 cpu, 2 disks, 2048MB RAM", "root linux", "web1: /var/log/100"},
		{"+5sec", "2 cpus, 2 disks, 2048MB RAM", "root[1] linux[1]", "web1: /var/log/100"},
		{"+20sec", "3 cpus, 2 disks, 2048MB RAM", "root[2] proc[2] xfs[2]", "web1: /var/log/200"},
		{"+25sec", "4 cpus, 2 disks, 2048MB RAM", "root[3]", "web1: /var/log/100"},
	} {
		s := summaryAt(t, base, test.origin)
		got := []string{s.hardware(), s.agents(), strings.Join(s.loggers(), " ")}
		if diff := cmp.Diff([]string{test.hardware, test.agents, test.loggers}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.origin, diff)
		}
	}
}

// TestInteropChanging compares a summary with that of PCP's tool, which takes seconds for each.
func TestInteropChanging(t *testing.T) {
	pcptest.Need(t, "pcp")
	ours := pcptest.Build(t, "./examples/pcp")
	base := writeChanging(t, 2048, pdu.SpaceMByte)
	run := func(program string) (stdout string) {
		stdout, _, _ = pcptest.Run(t, nil, "", program, "-a", base, "-O", "+5sec")
		return stdout
	}
	if diff := cmp.Diff(run("pcp"), run(ours)); diff != "" {
		t.Errorf("(-PCP +ours):\n%s", diff)
	}
}

// TestMemoryUnit prints memory in any unit as megabytes. PCP's tool prints the number.
func TestMemoryUnit(t *testing.T) {
	for _, test := range []struct {
		memory uint64
		unit   pdu.Units
		want   string
	}{
		{2048, pdu.SpaceMByte, "1 cpu, 2 disks, 2048MB RAM"},
		{2048 << 10, pdu.SpaceKByte, "1 cpu, 2 disks, 2048MB RAM"},
		{2048, pdu.TimeSec, "1 cpu, 2 disks,"},
	} {
		s := summaryAt(t, writeChanging(t, test.memory, test.unit), "+0sec")
		if got := s.hardware(); got != test.want {
			t.Errorf("%d %v: %q, want %q", test.memory, test.unit, got, test.want)
		}
	}
}
