package logconf_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/logconf"
)

// A program reads a configuration, and shows what it asks for.
func Example() {
	config, err := logconf.Options{Default: time.Minute}.Parse("config", strings.NewReader(`
%define often "500 msec"
log mandatory on once { hinv.ncpu hinv.physmem }
log mandatory on every %often { kernel.all.load ["1 minute"] disk.dev }
log advisory on default { mem.util }
[access]
disallow * : all except enquire;
`))
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range config.Requests {
		every := fmt.Sprint("every ", r.Interval)
		if r.Interval == 0 {
			every = "once"
		}
		for _, m := range r.Metrics {
			fmt.Println(r.Control, r.State, every, m.Name, m.Instances)
		}
	}
	for _, r := range config.Rules {
		fmt.Println(r.Allow, r.Hosts, r.Ops&logconf.OpEnquire != 0)
	}
	// Output:
	// mandatory on once hinv.ncpu []
	// mandatory on once hinv.physmem []
	// mandatory on every 500ms kernel.all.load [1 minute]
	// mandatory on every 500ms disk.dev []
	// advisory on every 1m0s mem.util []
	// false [*] false
}

// A SyntaxError has the file and the line.
func ExampleSyntaxError() {
	_, err := logconf.Options{}.Parse("config", strings.NewReader("log mandatory on 5 secs {\n\tkernel.all.load;\n}\n"))
	if wrong, ok := errors.AsType[*logconf.SyntaxError](err); ok {
		fmt.Println(wrong.File, wrong.Line)
	}
	fmt.Println(err)
	// Output:
	// config 2
	// config:2: syntax error
}
