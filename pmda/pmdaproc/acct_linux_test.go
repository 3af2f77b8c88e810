package pmdaproc_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// endedProcess returns the record of a process that ended some time ago. No two of its numbers are
// equal.
func endedProcess(id int, command string, ago time.Duration) string {
	b := make([]byte, 64)
	b[0], b[1] = 0x1b, 3
	binary.NativeEndian.PutUint16(b[2:], 136<<8|7)
	for i, v := range []int{256 + id, 0, 0, id, 1000 + id, int(time.Now().Add(-ago).Unix()) - 2} {
		binary.NativeEndian.PutUint32(b[4+4*i:], uint32(v))
	}
	binary.NativeEndian.PutUint32(b[28:], math.Float32bits(200)) // 2 seconds
	for i := range 8 {
		binary.NativeEndian.PutUint16(b[32+2*i:], uint16(100*id+i)|uint16(i)<<13)
	}
	copy(b[48:], command)
	return string(b)
}

// appendFile appends to a file.
func appendFile(t testing.TB, path string, texts ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(strings.Join(texts, ""))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestInteropAccounting compares metrics and values with the C agent, which accepts only a file
// that the kernel writes to.
func TestInteropAccounting(t *testing.T) {
	pcptest.Need(t, "pmcd")
	path := filepath.Join(t.TempDir(), "pacct")
	appendFile(t, path)
	values := *accounting && os.Geteuid() == 0
	if values {
		if err := unix.Acct(path); err != nil {
			t.Fatal(err)
		}
	}
	c := cAgent(t, "", "PCP_PACCT_SYSTEM_PATH="+path)
	names := c.names("acct")
	c.values(names)
	if values {
		syscall.Syscall(unix.SYS_ACCT, 0, 0, 0)
	}
	our := serveAgent(t, &pmdaproc.Options{NoAccessChecks: true, AccountingFile: path})
	if diff := cmp.Diff(names, our.names("acct")); diff != "" || len(names) != 29 {
		t.Fatalf("%d metrics (-C +ours)\n%s", len(names), diff)
	}
	if diff := cmp.Diff(c.descs(names), our.descs(names)); diff != "" {
		t.Errorf("descriptors (-C +ours)\n%s", diff)
	}
	if !values {
		return
	}
	our.values(names)
	appendFile(t, path, endedProcess(11, "first", 0), endedProcess(12, "same", time.Second), endedProcess(13, "old", time.Hour), endedProcess(14, "same", 0), endedProcess(11, "again", 0), endedProcess(15, "sixteen-letters-and-more", 0))
	want, got := ofTest(c.values(names)), ofTest(our.values(names))
	if diff := cmp.Diff(want, got); diff != "" || strings.Count(got["acct.psinfo.pid"], "\n") != 3 {
		t.Errorf("values (-C +ours)\n%s%s", diff, got["acct.psinfo.pid"])
	}
	d := pdu.MakeInDom(pmdaproc.Domain, 40)
	wantList, err := c.Instances(t.Context(), d)
	gotList, err2 := our.Instances(t.Context(), d)
	wantList = slices.DeleteFunc(wantList, func(i pdu.Instance) bool { return i.ID > lastOfTest })
	if diff := cmp.Diff(wantList, gotList); len(gotList) != 4 || diff != "" || err != nil || err2 != nil {
		t.Errorf("instances (-C +ours)\n%s %v %v", diff, err, err2)
	}
}

// lastOfTest is the greatest ID of a process of the test. Others have ended on this machine.
const lastOfTest = 20

// ofTest removes the values of other processes.
func ofTest(values map[string]string) map[string]string {
	for name, lines := range values {
		kept := slices.DeleteFunc(strings.Split(lines, "\n"), func(line string) bool {
			id, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.Atoi(id)
			return err == nil && n > lastOfTest
		})
		values[name] = strings.Join(kept, "\n")
	}
	return values
}

// ended returns the ended processes that a client sees.
func (a directAgent) ended(r *pmda.Request) (ids []int) {
	a.t.Helper()
	v, err := a.fetch(r, "acct.psinfo.pid")
	if err != nil {
		a.t.Fatal(err)
	}
	for id := range v {
		ids = append(ids, int(id))
	}
	slices.Sort(ids)
	return ids
}

// TestAccountingFile checks that reading continues when the file is rotated, truncated or damaged.
func TestAccountingFile(t *testing.T) {
	root := files{"var/account/pacct": endedProcess(1, "before", 0)}.write(t)
	path := filepath.Join(root, "var/account/pacct")
	a := newAgent(t, &pmdaproc.Options{Root: root})
	see := func(what string, want ...int) {
		t.Helper()
		if got := a.ended(self()); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	see("at first")
	record := endedProcess(3, "three", 0)
	appendFile(t, path, endedProcess(2, "two", 0), record[:20])
	see("a part of a record", 2)
	appendFile(t, path, record[20:], endedProcess(0, "none", 0), endedProcess(4, "long ago", time.Hour), endedProcess(-5, "negative", 0))
	see("the rest", 2, 3)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	see("while it is rotated", 2, 3)
	appendFile(t, path+".1", endedProcess(5, "late", 0))
	appendFile(t, path, endedProcess(6, "new", 0))
	see("rotated", 2, 3, 5, 6)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	see("emptied", 2, 3, 5, 6)
	appendFile(t, path, endedProcess(7, "n\x1b[mame\xff of 16 bytes", 0))
	see("written again", 2, 3, 5, 6, 7)
	other := []byte(endedProcess(8, "version", 0))
	other[1] = 2
	appendFile(t, path, string(other), endedProcess(9, "after", 0))
	see("of another version", 2, 3, 5, 6, 7)
	appendFile(t, path, endedProcess(10, "goes on", 0))
	see("of the right version", 2, 3, 5, 6, 7, 10)
	list, err := a.Instances(t.Context(), self(), pdu.MakeInDom(pmdaproc.Domain, 40), pdu.NoInst, "")
	if err != nil || len(list) != 6 || list[0].Name != "goes on" || list[0].ID != 10 || list[1].Name != "name\xff of 16 b" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, c := range []struct {
		inst pdu.InstID
		name string
		want error
	}{{10, "", nil}, {pdu.NoInst, "goes on", nil}, {11, "", pdu.ErrInst}, {pdu.NoInst, "goes", pdu.ErrInst}} {
		list, err := a.Instances(t.Context(), self(), pdu.MakeInDom(pmdaproc.Domain, 40), c.inst, c.name)
		if !errors.Is(err, c.want) || c.want == nil && (len(list) != 1 || list[0] != pdu.Instance{ID: 10, Name: "goes on"}) {
			t.Errorf("%+v: %v, %v", c, list, err)
		}
	}
}

// TestManyEnded checks that only the last of many ended processes are kept.
func TestManyEnded(t *testing.T) {
	root := files{"var/account/pacct": ""}.write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root})
	a.ended(self())
	var all []string
	for id := range 7000 {
		all = append(all, endedProcess(id+1, "x", 0))
	}
	appendFile(t, filepath.Join(root, "var/account/pacct"), all...)
	if got := a.ended(self()); len(got) != 5000 || got[0] != 2001 {
		t.Errorf("%d from %d", len(got), got[0])
	}
	appendFile(t, filepath.Join(root, "var/account/pacct"), endedProcess(1, "x", 0))
	if got := a.ended(self()); len(got) != 5000 || got[0] != 1 || got[1] != 2002 {
		t.Errorf("%d from %d", len(got), got[0])
	}
}

// TestAccountingAccess checks which clients see ended processes and which may change settings.
func TestAccountingAccess(t *testing.T) {
	root := files{"var/log/account/pacct": ""}.write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root})
	a.ended(self())
	appendFile(t, filepath.Join(root, "var/log/account/pacct"), endedProcess(5, "x", 0))
	if got := a.ended(self()); len(got) != 1 {
		t.Errorf("%v", got)
	}
	stranger, d := as(-1, -1), pdu.MakeInDom(pmdaproc.Domain, 40)
	if v, err := a.fetch(stranger, "acct.psinfo.pid"); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) {
		t.Errorf("%v, %v", v, err)
	}
	if list, err := a.Instances(t.Context(), stranger, d, pdu.NoInst, ""); len(list) != 0 || !errors.Is(err, pdu.ErrPermission) {
		t.Errorf("%v, %v", list, err)
	}
	if v, err := a.fetch(stranger, "acct.control.lifetime"); len(v) != 1 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	store := func(r *pmda.Request, name string, v pdu.Atom, want error) {
		t.Helper()
		var w pdu.ResultWriter
		w.Begin(a.id(name))
		w.Atom(pdu.NoInst, v)
		result, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Store(t.Context(), r, result); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	store(as(nobodyID, nobodyID), "acct.control.lifetime", pdu.Uint32(5), pdu.ErrPermission)
	store(stranger, "acct.control.enable_acct", pdu.Uint32(1), pdu.ErrPermission)
	store(as(0, 0), "acct.control.refresh", pdu.Uint32(0), pdu.ErrPermission)
	store(as(0, 0), "acct.psinfo.pid", pdu.Uint32(0), pdu.ErrPermission)
	store(as(0, 0), "acct.control.file_size_threshold", pdu.Uint64(1<<40), nil)
	store(as(0, 0), "acct.control.lifetime", pdu.Uint32(0), nil)
	if v, err := a.fetch(stranger, "acct.control.file_size_threshold"); v[pdu.NoInst].String() != "1099511627776" || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if got := a.ended(self()); len(got) != 0 {
		t.Errorf("after their life: %v", got)
	}
}

var accounting = flag.Bool("accounting", false, "have the kernel account for processes of the whole machine")

// TestPrivateAccounting checks that the agent switches accounting on when a client sets that, and
// off when it ends.
func TestPrivateAccounting(t *testing.T) {
	if !*accounting || os.Geteuid() != 0 {
		t.Skip("only with the flag -accounting, and for the root user")
	}
	path := filepath.Join(t.TempDir(), "run", "pacct")
	a := newAgent(t, &pmdaproc.Options{Root: files{"var/account/pacct": ""}.write(t), NoAccessChecks: true, PrivateAccounting: path})
	end := a.BeginServing(nil)
	var w pdu.ResultWriter
	w.Begin(a.id("acct.control.enable_acct"))
	w.Atom(pdu.NoInst, pdu.Uint32(1))
	result, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Store(t.Context(), as(0, 0), result); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		a.ended(self())
		if _, err := os.Stat(path); err == nil {
			break
		}
		store := a.Store(t.Context(), as(0, 0), result) // the agent is not served yet
		if store != nil {
			t.Fatal(store)
		}
	}
	cmd := exec.Command("sleep", "0")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := a.ended(self()); !slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("%v do not have %d", got, cmd.Process.Pid)
	}
	end()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there still: %v", err)
	}
}

// TestAccountingOfOthers checks that a client of another user sees processes of a file that only
// the agent may read.
func TestAccountingOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the root user can have the rights of others")
	}
	root := files{"var/account/pacct": ""}.write(t)
	path := filepath.Join(root, "var/account/pacct")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, &pmdaproc.Options{Root: root})
	a.ended(as(nobodyID, nobodyID))
	appendFile(t, path, endedProcess(5, "x", 0))
	if got := a.ended(as(nobodyID, nobodyID)); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
