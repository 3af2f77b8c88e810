package mmv_test

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// Records are counted by level.
func ExampleRegistry_LogHandler() {
	registry := &mmv.Registry{Name: "shop"}
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // for the output to be the same each time
		}
		return a
	}})
	log := slog.New(registry.LogHandler("log.records", text))
	log.Warn("out of stock", "product", "Anvils")
	log.Info("ordered", "product", "Anvils")
	log.Info("ordered", "product", "Rockets")
	show(registry, "log.records")
	// Output:
	// level=WARN msg="out of stock" product=Anvils
	// level=INFO msg=ordered product=Anvils
	// level=INFO msg=ordered product=Rockets
	// log.records DEBUG 0
	// log.records INFO 2
	// log.records WARN 1
	// log.records ERROR 0
}

// The metrics of package runtime/metrics are read whenever those of the registry are.
func ExampleRegistry_AddRuntime() {
	registry := &mmv.Registry{Name: "shop"}
	registry.AddRuntime("go")
	f, err := mmv.Read(registry.Source())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range f.Metrics {
		if m.Name == "go.gc.heap.live_bytes" {
			text, _ := m.Text(pdu.TextOneLine)
			fmt.Println(text)
		}
	}
	// Output:
	// Heap memory occupied by live objects that were marked by the previous GC
}

// show prints the values of a metric, as an agent reads them.
func show(registry *mmv.Registry, name string) {
	f, err := mmv.Read(registry.Source())
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range s.Metrics {
		for _, v := range m.Values {
			if m.Metric.Name == name {
				fmt.Println(name, v.Instance.Name, v.Value)
			}
		}
	}
}
