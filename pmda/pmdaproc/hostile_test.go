package pmdaproc_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// instances returns the names of the processes of a tree.
func (a directAgent) instances() (names []string) {
	a.t.Helper()
	list, err := a.Instances(a.t.Context(), self(), pdu.MakeInDom(pmdaproc.Domain, 9), pdu.NoInst, "")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

// TestNames checks unusual names and command lines.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for _, c := range []struct{ cmdline, status, name, psargs string }{
		{"sleep\x00100\x00", "", "000010 sleep", "sleep 100"},
		{"a\x00\x00b\x00\x00", "", "000010 a", "a  b"},
		{"my prog name\x00", "", "000010 my", "my prog name"},
		{" lead\x00", "", "000010 ", " lead"},
		{"\x00\x00\x00", "", "000010 ", ""},
		{"", "Name:\tkthreadd\n", "000010 (kthreadd)", "(kthreadd)"},
		{"", "Name:\t(fo (o)\n", "000010 ((fo", "((fo (o))"},
		{"", "Name:\ta\\nb\nUmask:\t1\n", "000010 (a\\nb)", "(a\\nb)"},
		{"", "", "000010 <exiting>", "<exiting>"},
		{"", "Uid:\t1\n", "000010 <exiting>", "<exiting>"},
		{"a\nb\tc\rd\x07e\x7ff\x00", "", "000010 a", "a b c d e f"},
		{"\x1b[31mred\x1b[0m\x00", "", "000010 red", "red"},
		{"\x1b]0;title\x07x\x1b]2;t\x1b\\y\x1bcz\x1b", "", "000010 xyz", "xyz"},
		{"\x1b[", "", "000010 ", ""},
		{"\u009b31mx\u0085y", "", "000010 ", "  31mx  y"},
		{"\xff\xfe\xc2\x00é\x00", "", "000010 \xff\xfe\xc2", "\xff\xfe\xc2 é"},
		{`{"pid":1}\"`, "", `000010 {"pid":1}\"`, `{"pid":1}\"`},
		{long, "", "000010 " + long[:4088], long[:4088]},
		{"", "Name:\t" + long, "000010 <exiting>", "<exiting>"},
	} {
		tree := files{"proc/10/cmdline": c.cmdline, "proc/10/status": c.status}
		if c.status == "" {
			delete(tree, "proc/10/status")
		}
		a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
		if diff := cmp.Diff([]string{c.name}, a.instances()); diff != "" {
			t.Errorf("%.40q: names (-want +got)\n%s", c.cmdline+c.status, diff)
		}
		v, err := a.fetch(self(), "proc.psinfo.psargs")
		if err != nil || len(v) != 1 || text(t, v[10]) != c.psargs {
			t.Errorf("%.40q: %v, %v, want %.40q", c.cmdline+c.status, v, err, c.psargs)
		}
	}
}

// TestDirectories checks which directories of /proc are processes and which names find them.
func TestDirectories(t *testing.T) {
	tree := files{"proc/12x/cmdline": "no", "proc/007/cmdline": "no", "proc/0/cmdline": "no", "proc/99999999999/cmdline": "no", "proc/4294967297/cmdline": "no", "proc/self": "->12", "proc/-1/cmdline": "no",
		"proc/12/cmdline": "twelve", "proc/1234567/cmdline": "", "proc/1234567/status": "Name:\tlate\n", "proc/2147483647/cmdline": "last"}
	a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
	if diff := cmp.Diff([]string{"000012 twelve", "1234567 (late)", "2147483647 last"}, a.instances()); diff != "" {
		t.Error(diff)
	}
	d := pdu.MakeInDom(pmdaproc.Domain, 9)
	for name, want := range map[string]pdu.InstID{"12": 12, "000012": 12, "0000012": 12, "000012 twelve": 12, "1234567": 1234567, "12 ": -1, "000012 ": -1, "twelve": -1, "-1": -1, "13": -1, "0": -1} {
		list, err := a.Instances(t.Context(), self(), d, pdu.NoInst, name)
		if want < 0 && !errors.Is(err, pdu.ErrInst) || want >= 0 && (err != nil || len(list) != 1 || list[0].ID != want) {
			t.Errorf("%q: %v, %v, want %d", name, list, err, want)
		}
	}
	if list, err := a.Instances(t.Context(), self(), d, 12, "000012 twelve"); !errors.Is(err, pdu.ErrInst) {
		t.Error(list, err)
	}
	sets, err := a.Labels(t.Context(), self(), pdu.LabelsOfInstances(d))
	if err != nil || len(sets) != 3 || string(sets[0].JSON) != `{"pid":12}` {
		t.Error(sets, err)
	}
}

// TestOtherProgram checks that a process that executed another program, or another process with the
// same ID, gets a new name.
func TestOtherProgram(t *testing.T) {
	stat := func(comm, start string) string {
		return "10 (" + comm + ") S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + start + " 1024 1 0\n"
	}
	root := files{"proc/10/cmdline": "old\x00", "proc/10/stat": stat("old", "5")}.write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root})
	want := func(name string) {
		t.Helper()
		if _, err := a.fetch(self(), "proc.psinfo.utime"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"000010 " + name}, a.instances()); diff != "" {
			t.Error(diff)
		}
	}
	want("old")
	files{"proc/10/cmdline": "sly\x00"}.writeTo(t, root) // the kernel would also change its comm
	want("old")
	files{"proc/10/cmdline": "new\x00", "proc/10/stat": stat("new", "5")}.writeTo(t, root)
	want("new")
	files{"proc/10/cmdline": "late\x00", "proc/10/stat": stat("new", "6")}.writeTo(t, root)
	want("late")
	if err := os.Rename(filepath.Join(root, "proc/10"), filepath.Join(root, "gone")); err != nil {
		t.Fatal(err)
	}
	if names := a.instances(); len(names) != 0 {
		t.Error(names)
	}
	files{"proc/10/cmdline": "again\x00"}.writeTo(t, root)
	if diff := cmp.Diff([]string{"000010 again"}, a.instances()); diff != "" {
		t.Error(diff)
	}
}

// TestDamaged checks that damaged files neither crash the agent nor give a process the numbers of
// another.
func TestDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		tree := machine()
		for name, content := range tree {
			isLink := strings.HasPrefix(content, "->")
			switch b := []byte(content); random.IntN(6) {
			case 0:
				if isLink {
					continue
				}
				tree[name] = string(b[:random.IntN(len(b)+1)])
			case 1:
				for range 3 {
					if len(b) > 0 {
						b[random.IntN(len(b))] = byte(random.IntN(256))
					}
				}
				if !isLink {
					tree[name] = string(b)
				}
			case 2:
				delete(tree, name)
			case 3:
				delete(tree, name)
				tree[name+"/"] = ""
			case 4:
				if !isLink {
					tree[name] = strings.Repeat(content, 1+random.IntN(300))
				}
			}
		}
		var log bytes.Buffer
		a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
		a.Logger = slog.New(slog.NewTextHandler(&log, nil))
		var ids []pdu.PMID
		for _, name := range allNames(t, a) {
			ids = append(ids, a.id(name))
		}
		var w pdu.ResultWriter
		if err := a.Fetch(t.Context(), self(), ids, &w); err != nil || w.Len() != len(ids) {
			t.Errorf("%d sets, want %d, %v", w.Len(), len(ids), err)
		}
		for _, name := range a.instances() {
			if !pmda.ValidInstanceName(name) {
				t.Errorf("%q is no name", name)
			}
		}
		if strings.Contains(log.String(), "panic") {
			t.Error(log.String())
		}
	}
}

// allNames returns the names of all metrics of processes.
func allNames(t *testing.T, a directAgent) (all []string) {
	for name := range a.Namespace().All() {
		id, err := a.Namespace().Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if !isRoot(id) {
			all = append(all, name)
			continue
		}
		names, err := a.Traverse(t.Context(), self(), name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	return all
}

// TestCutShort checks that values missing in a file do not come from an earlier file.
func TestCutShort(t *testing.T) {
	tree := machine()
	tree["proc/4000/stat"], tree["proc/4000/status"], tree["proc/4000/io"] = "4000 (x) S 1", "Name:\tx\nUid:\t5\t6", "rchar: 12"
	a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
	for _, name := range []string{"proc.psinfo.utime", "proc.psinfo.rss", "proc.id.uid", "proc.memory.vmsize", "proc.io.rchar", "proc.io.wchar"} {
		v, err := a.fetch(self(), name)
		if err != nil || !hasKey(v, 4000) || v[4000].String() != "0" || v[1].String() == "0" && name != "proc.id.uid" {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	tree = files{"proc/10/stat": "10 x S", "proc/10/status": "", "proc/10/cgroup": "1:cpuset:/a\n0::/b"}
	a = newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
	for name, want := range map[string]pdu.Error{"proc.psinfo.utime": pdu.ErrValue, "proc.id.uid": pdu.ErrValue, "proc.io.rchar": pdu.ErrAppVersion, "proc.smaps.rss": pdu.ErrAppVersion} {
		if v, err := a.fetch(self(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", name, v, err, want)
		}
	}
	if v, err := a.fetch(self(), "proc.psinfo.cgroups"); err != nil || text(t, v[10]) != "cpuset:/a" {
		t.Error(v, err)
	}
	if v, err := a.fetch(self(), "proc.runq.unknown"); err != nil || v[pdu.NoInst].String() != "1" {
		t.Error(v, err)
	}
}
