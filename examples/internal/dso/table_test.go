package dso

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const conf = `# agents
pmcd 2 dso pmcd_init /lib/pmda_pmcd.so
  indented 7 dso one_init /lib/one.so
linux 60 pipe binary /lib/pmdalinux
one 400 dso one_init /lib/one.so
two 401 dso one_init /lib/two.so more
pipe 402 pipe binary /lib/pmdapipe
proc 3 pipe binary /lib/pmdaproc -d 3
 linux 61 pipe binary /lib/pmdalinux
process 404 pipe binary /lib/process
bad x dso one_init /lib/one.so
far 512 dso one_init /lib/one.so
short 403 dso one_init
[access]
disallow * : store;
`

// testTable is the table of a configuration, with agents for one_init and linux_init.
func testTable(t *testing.T, text string) *Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	one := func(d pdu.Domain) (pmda.Handler, error) { return &pmda.Agent{Name: fmt.Sprint("d", d), Domain: d}, nil }
	return &Table{Conf: path, Dir: "/agents", Make: map[string]func(pdu.Domain) (pmda.Handler, error){
		"one_init": one, "linux_init": one, "proc_init": one,
		"fail_init": func(pdu.Domain) (pmda.Handler, error) { return nil, errors.New("out of order") },
	}}
}

// domains are those of the agents of a table.
func domains(t *testing.T, table *Table) string {
	t.Helper()
	handlers, err := table.Handlers()
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, h := range handlers {
		list = append(list, fmt.Sprint(h.Info().Domain))
	}
	return strings.Join(list, " ")
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		specs string // separated by blanks
		want  string // the domains
	}{
		{"", "60 400 401 3"},
		{"clear", ""},
		{"clear add,9,/lib/x,one_init", "9"},
		{"add,9,/lib/x,one_init", "60 400 401 3 9"},
		{"add,400,/lib/x,one_init", "60 400 401 3"},
		{"add,9,/lib/x,other_init", "60 400 401 3"},
		{"add,9,/lib/x,fail_init", "60 400 401 3"},
		{"add,9,/lib/x,one_init clear", ""},
		{"del,400", "60 401 3"},
		{"del,400, del,60,x", "401 3"},
		{"del,,/lib/two.so", "60 400 3"},
		{"del,0,/lib/two.so,0", "60 400 3"},
		{"del,,/agents/linux/pmda_linux.so", "400 401 3"},
		{"add,400,/lib/x,one_init del,400", "60 401 3"},
	} {
		table := testTable(t, conf)
		for _, spec := range strings.Fields(tt.specs) {
			if err := table.Edit(spec); err != nil {
				t.Errorf("%s: %s: %v", tt.specs, spec, err)
			}
		}
		if got := domains(t, table); got != tt.want {
			t.Errorf("%s: agents of %s, want %s", tt.specs, got, tt.want)
		}
	}
}

func TestTableErrors(t *testing.T) {
	const unknown = "__pmLocalPMDA: Unknown or illegal instance domain identifier"
	for spec, want := range map[string]string{
		"": "bad op in spec", "foo": "bad op in spec", "Add,1,a,b": "bad op in spec", "ad": "bad op in spec",
		"add": "expected , after op in spec", "addx": "expected , after op in spec", "del": "expected , after op in spec",
		"add,": "missing domain in spec", "add,,/a,b": "missing domain in spec", "del,": "missing domain in spec",
		"add,x,/a,b": "bad domain in spec", "add,-1,/a,b": "bad domain in spec", "add,511,/a,b": "bad domain in spec",
		"add,99999999999,/a,b": "bad domain in spec", "del,60 ": "bad domain in spec",
		"add,1": "missing dso-path in spec", "add,1,": "missing dso-path in spec",
		"add,1,/a": "missing init-routine in spec", "add,1,/a,": "missing init-routine in spec",
		"clear,": "unexpected text after clear op in spec", "clearx": "unexpected text after clear op in spec",
		"del,,": "missing domain and dso-path in spec", "del,,,x": "missing domain and dso-path in spec",
		"del,61": unknown, "del,,/lib/three.so": unknown, "del,2": unknown,
	} {
		table := testTable(t, conf)
		err := table.Edit(spec)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
		if _, refused := errors.AsType[SpecError](err); refused == errors.Is(err, pdu.ErrInDom) {
			t.Errorf("%q: %T is not one of a SpecError and pdu.ErrInDom", spec, err)
		}
		if got := domains(t, table); got != "60 400 401 3" {
			t.Errorf("%q: agents of %s after an error", spec, got)
		}
	}
	missing := &Table{Conf: filepath.Join(t.TempDir(), "nosuch")}
	const noFile = "__pmLocalPMDA: No such file or directory"
	if err := missing.Edit("del,1"); err == nil || err.Error() != noFile || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no configuration: %v, want %q", err, noFile)
	}
	if _, err := missing.Handlers(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no configuration: %v", err)
	}
	if err := missing.Edit("clear"); err != nil || domains(t, missing) != "" {
		t.Errorf("no configuration, and none needed: %v", err)
	}
}

func TestTableWarnings(t *testing.T) {
	table := testTable(t, "")
	table.Dir = t.TempDir()
	text := filepath.Join(table.Dir, "text.so")
	if err := os.WriteFile(text, []byte("no shared object, but a text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	table.Warnings = &out
	for _, spec := range []string{"add,1,/nosuch,x_init", "add,2,text,x_init", "add,3,nosuch,one_init", "add,4,/x,fail_init"} {
		if err := table.Edit(spec); err != nil {
			t.Fatal(err)
		}
	}
	if got := domains(t, table); got != "3" { // whose code is in this program
		t.Errorf("agents of %s", got)
	}
	const warning = "__pmConnectLocal: Warning: "
	want := warning + "cannot find DSO at \"/nosuch.so\" or \"/nosuch\"\n" +
		warning + "error attaching DSO \"" + text + "\"\n" + text + ": invalid ELF header\n\n" +
		warning + "cannot initialize \"fail_init\" of domain 4: out of order\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
}
