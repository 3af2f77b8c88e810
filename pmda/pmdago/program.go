package pmdago

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addProgram adds the most frequently used metrics, under short names.
func (a *agent) addProgram() {
	for i, m := range []struct {
		name, text string
		sem        pdu.Sem
		units      pdu.Units
		value      func() uint64
	}{
		{"go.goroutines", "Goroutines that exist", pdu.SemInstant, pdu.UnitCount, func() uint64 { return uint64(runtime.NumGoroutine()) }},
		{"go.gomaxprocs", "Threads that can execute Go code at the same time", pdu.SemInstant, pdu.UnitCount, func() uint64 { return uint64(runtime.GOMAXPROCS(0)) }},
		{"go.numcpu", "Processors that the process could use when it began", pdu.SemDiscrete, pdu.UnitCount, func() uint64 { return uint64(runtime.NumCPU()) }},
		{"go.cgocalls", "Calls of C functions", pdu.SemCounter, pdu.UnitCount, func() uint64 { return uint64(runtime.NumCgoCall()) }},
	} {
		pmda.Register(a.Agent, pmda.Metric[uint64]{
			Name: a.named(m.name), Text: m.text, ID: pmda.Item(clusterProgram, i), Sem: m.sem, Units: m.units,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return m.value(), nil },
		})
	}
}

// addBuild adds metrics of the build. Unknown ones have no value.
func (a *agent) addBuild() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	settings := &pmda.InDom{Name: "setting", Serial: pmda.InDomSerial(serialSettings), Text: "Settings of the build", Help: "Settings of the build, as \"go version -m\" lists them."}
	a.Attach(settings)
	values := map[string]string{}
	var names []string
	for _, s := range info.Settings {
		if _, ok := values[s.Key]; !ok && s.Key != "" {
			names = append(names, s.Key)
		}
		values[s.Key] = s.Value
	}
	if _, err := settings.SetNames(names...); err != nil {
		a.Log().Warn("settings of the build are left out", "error", err)
	}
	for i, m := range []struct{ name, text, value string }{
		{"go.build.goversion", "Release of Go that built the program", runtime.Version()},
		{"go.build.path", "Path of the main package", info.Path},
		{"go.build.module", "Path of the main module", info.Main.Path},
		{"go.build.version", "Version of the main module", info.Main.Version},
		{"go.build.revision", "Revision in version control", values["vcs.revision"]},
		{"go.build.time", "Time of the revision in version control", values["vcs.time"]},
		{"go.build.os", "Operating system that the program was built for", runtime.GOOS},
		{"go.build.arch", "Architecture that the program was built for", runtime.GOARCH},
	} {
		a.addText(m.name, m.text, pmda.Item(clusterBuild, i), m.value)
	}
	pmda.Register(a.Agent, pmda.Metric[string]{
		Name: a.named("go.build.setting"), Text: "Settings of the build", ID: pmda.Item(clusterBuild, 100), Sem: pdu.SemDiscrete, InDom: settings,
		Help:  "Settings of the build, such as flags of the compiler and the revision in\nversion control. They are in the program's file, too.",
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) { return values[i.Name], nil },
	})
}

// addText adds a metric with a constant text, or without a value if the text is empty.
func (a *agent) addText(name, text string, id pmda.ItemID, value string) {
	pmda.Register(a.Agent, pmda.Metric[string]{
		Name: a.named(name), Text: text, ID: id, Sem: pdu.SemDiscrete,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
			if value == "" {
				return "", pmda.NoValue
			}
			return value, nil
		},
	})
}

// programName returns the name of the program's file, or "".
func programName() string {
	if path, err := os.Executable(); err == nil {
		return filepath.Base(path)
	}
	return ""
}
