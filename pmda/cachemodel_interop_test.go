package pmda_test

import (
	"bufio"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

var (
	cacheSequences = flag.Int("cache.sequences", 20, "compare `n` random sequences of operations of a cache with the C library's")
	cacheSeed      = flag.Uint64("cache.seed", 0, "begin with the sequence of `seed`")
)

// A cCache is a cache of the C library in a separate program that runs operations. The source of
// the program describes its commands.
type cCache struct {
	t   testing.TB
	dir string // of its files
	in  io.Writer
	out *bufio.Scanner
}

// newCCache starts the program. All caches of one test are in one process.
func newCCache(t testing.TB) *cCache {
	t.Helper()
	program := pcptest.BuildC(t, "testdata/cachedriver.c", "-O2", "-lpcp_pmda", "-lpcp")
	dir := t.TempDir()
	c := &cCache{t: t, dir: filepath.Join(dir, "config", "pmda")}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "PCP_VAR_DIR="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(nil, 1<<20)
	return c
}

// do runs a command and returns what it prints.
func (c *cCache) do(format string, args ...any) string {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
	if !c.out.Scan() {
		c.t.Fatal("the C program has ended: ", c.out.Err())
	}
	return strings.TrimSpace(c.out.Text())
}

// rename renames one of its files.
func (c *cCache) rename(from, to string) {
	c.t.Helper()
	if err := os.Rename(filepath.Join(c.dir, from), filepath.Join(c.dir, to)); err != nil {
		c.t.Fatal(err)
	}
}

// hexed returns a name or key in the encoding of the program.
func hexed(s string) string {
	if s == "" {
		return "."
	}
	return hex.EncodeToString([]byte(s))
}

// codeOr returns the result of a C function: a number, or the code of an error.
func codeOr[N ~int | ~int32](n N, err error) string {
	if err != nil {
		return fmt.Sprint(int(pdu.FromError(err)))
	}
	return fmt.Sprint(int(n))
}

// found returns what a lookup in C prints: the state and the instance.
func found(e pmda.CacheEntry[int], ok bool, format string, args ...any) string {
	switch {
	case !ok:
		return fmt.Sprint(int(pdu.ErrInst))
	case e.Active:
		return "8 " + fmt.Sprintf(format, args...)
	}
	return "9 " + fmt.Sprintf(format, args...)
}

// A cacheModel runs the same operations on a Cache and on the C library's.
type cacheModel struct {
	t      *testing.T
	r      *rand.Rand
	c      *cCache
	cache  *pmda.Cache[int]
	dir    string
	serial *int
	log    []string
	value  int
	last   pdu.InstID // the highest ID of all
	culled bool       // instances have been culled, and not dropped
	stale  bool       // instances have been culled since the file was written
	ranged bool       // IDs have a limit, which PCP 7 and ours keep for those of keys, too
}

var (
	cacheNames = []string{"a", "b", "c", "d", "e", "foo", "foo bar", "foo baz", "foo bar baz", "fo", "b x", "b ", "c  y", "d/e", "long-name-of-an-instance", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", ""}
	cacheKeys  = []string{"a", "k1", "k2", "\x01\x02\xff\x80", "boring instance", "a longer name than twelve bytes", "k3", "k4", "k5", "foo", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", ""}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// same compares a result of C with ours.
func (m *cacheModel) same(ours string, command string, args ...any) {
	m.t.Helper()
	line := fmt.Sprintf(command, args...)
	theirs := m.c.do(command, args...)
	m.log = append(m.log, fmt.Sprintf("%s -> %s", line, theirs))
	if ours != theirs {
		m.t.Fatalf("%s: %s, want as in C %s; after\n%s", line, ours, theirs, strings.Join(m.log, "\n"))
	}
}

// step runs a random operation.
func (m *cacheModel) step() {
	name := pick(m.r, cacheNames)
	switch op := m.r.IntN(100); {
	case op < 34:
		m.value++
		m.same(m.added(m.cache.Add(name, m.value)), "store 2 %s %d", hexed(name), m.value)
	case op < 44:
		if m.ranged || m.culled && !m.reorg() {
			return
		}
		m.value++
		key := pick(m.r, cacheKeys)
		m.same(m.added(m.cache.AddKey(name, key, m.value)), "key 2 %s %s %d", hexed(name), hexed(key), m.value)
	case op < 54:
		m.same(codeOr(m.cache.Hide(name)), "store 3 %s 1", hexed(name))
	case op < 62:
		m.culled, m.stale = true, true
		m.same(codeOr(m.cache.Cull(name)), "store 4 %s 1", hexed(name))
	case op < 72:
		m.lookup(name)
	case op < 80:
		m.all(m.r.IntN(40))
	case op < 84:
		highest := m.r.IntN(60) - 5
		err := m.cache.Resize(pdu.InstID(highest))
		m.ranged = m.ranged || err == nil
		m.same(codeOr(0, err), "resize %d", highest)
	case op < 88:
		m.purge()
	case op < 93:
		m.save()
	case op < 95 && !m.stale && !m.culled: // see reorg
		m.load()
	case op < 97:
		m.restart()
	default:
		m.compare()
	}
}

func (m *cacheModel) added(id pdu.InstID, err error) string {
	m.last = max(m.last, id)
	return codeOr(id, err)
}

// lookup looks an instance up in a random way.
func (m *cacheModel) lookup(name string) {
	switch m.r.IntN(3) {
	case 0:
		id := pdu.InstID(m.r.IntN(20))
		e, ok := m.cache.Lookup(id)
		m.same(found(e, ok, "%s %d", hexed(e.Name), e.Value), "id %d", id)
	case 1:
		e, ok := m.cache.LookupName(name)
		m.same(found(e, ok, "%d %d", e.ID, e.Value), "name %s", hexed(name))
	default:
		key := pick(m.r, cacheKeys[:len(cacheKeys)-1])
		e, ok := m.cache.LookupKey(key)
		m.same(found(e, ok, "%d %d %s", e.ID, e.Value, hexed(e.Name)), "bykey - %s", hexed(key))
	}
}

// all runs an operation on the whole cache.
func (m *cacheModel) all(op int) {
	active, inactive := m.cache.Size()
	switch {
	case op < 8:
		m.same(fmt.Sprint(active), "op 11")
	case op < 16:
		m.same(fmt.Sprint(inactive), "op 12")
	case op < 22:
		m.same(fmt.Sprint(m.cache.HideAll()), "op 9")
	case op < 28:
		m.same(fmt.Sprint(m.cache.ActivateAll()), "op 8")
	case op < 30:
		m.culled, m.stale = true, true
		m.same(fmt.Sprint(m.cache.CullAll()), "op 4")
	case op < 32:
		m.cache.Reuse()
		m.same("0", "op 13")
	default:
		m.reorg()
	}
}

// reorg drops the culled instances, unless one of them has the highest ID, because C then uses its
// memory after releasing it. C has two more bugs. If a culled instance has not been dropped and its
// ID comes again from a key or a file, C has the ID twice and loses the order of IDs. If the file
// has a different name for an ID, C warns that the record is ignored, but the instance gets its
// stamp.
func (m *cacheModel) reorg() (done bool) {
	if _, ok := m.cache.Lookup(m.last); !ok && m.last >= 0 {
		return false
	}
	m.cache.Reorg()
	m.same("0", "op 17")
	m.culled = false
	return true
}

// purge purges instances with a stamp, or with an old stamp. C counts culled instances again if
// they have not been dropped.
func (m *cacheModel) purge() {
	seconds := pick(m.r, []int{-10, 1000})
	if !m.reorg() {
		return
	}
	var got strings.Builder
	n := m.cache.Purge(time.Duration(seconds)*time.Second, func(e pmda.CacheEntry[int]) {
		if e.Value != 0 {
			fmt.Fprintf(&got, " %d", e.Value)
		}
	})
	m.same(fmt.Sprint(n)+got.String(), "purge %d", seconds)
	m.culled, m.stale = n > 0, m.stale || n > 0
}

// save saves both, and compares the files.
func (m *cacheModel) save() {
	if m.r.IntN(2) == 0 {
		m.same(codeOr(m.cache.Save()), "op 6")
	} else {
		m.same(codeOr(m.cache.Sync()), "op 18")
	}
	m.stale = false
	ours, err := os.ReadFile(m.cache.File)
	theirs, errC := os.ReadFile(m.cFile())
	if (err == nil) != (errC == nil) {
		m.t.Fatal(err, errC)
	}
	if diff := gocmp.Diff(stampless(string(theirs)), stampless(string(ours))); diff != "" {
		m.t.Fatalf("file (-C +ours):\n%s after\n%s", diff, strings.Join(m.log, "\n"))
	}
}

func (m *cacheModel) cFile() string { return filepath.Join(m.c.dir, fmt.Sprintf("200.%d", *m.serial)) }

// stampless returns the text of a file with x in place of stamps of this year or later.
func stampless(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if f := strings.SplitN(line, " ", 3); i > 0 && len(f) == 3 && f[1] != oldStamp {
			lines[i] = f[0] + " x " + f[2]
		}
	}
	return strings.Join(lines, "\n")
}

const oldStamp = "1000000000"

// load loads the file into a cache that may have instances.
func (m *cacheModel) load() {
	n, err := m.cache.Load()
	if n > 0 {
		err = nil // what C logs as a warning
	}
	m.same(codeOr(n, err), "op 1")
	for e := range m.cache.Inactive() {
		m.last = max(m.last, e.ID)
	}
	m.compare()
}

// restart continues with new caches: C reads the file that Go has written, and Go the file of C.
// Some instances get an old stamp.
func (m *cacheModel) restart() {
	m.save()
	ours, err := os.ReadFile(m.cache.File)
	theirs, errC := os.ReadFile(m.cFile())
	*m.serial++
	m.last, m.culled, m.stale = -1, false, false
	m.cache = &pmda.Cache[int]{File: filepath.Join(m.dir, fmt.Sprint(*m.serial))}
	m.same("0", "use 200 %d", *m.serial)
	if err == nil && errC == nil {
		old := m.r.Uint64()
		if err := errors.Join(os.WriteFile(m.cache.File, age(theirs, old), 0o644), os.WriteFile(m.cFile(), age(ours, old), 0o644)); err != nil {
			m.t.Fatal(err)
		}
	}
	m.load()
}

// age gives some lines an old stamp.
func age(text []byte, which uint64) []byte {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if f := strings.SplitN(line, " ", 3); i > 0 && len(f) == 3 && which>>(i%64)&1 != 0 {
			lines[i] = f[0] + " " + oldStamp + " " + f[2]
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// compare compares all visible state of the caches.
func (m *cacheModel) compare() {
	var walk []string
	for e := range m.cache.Active() {
		walk = append(walk, fmt.Sprint(e.ID))
	}
	theirs := strings.Fields(m.c.do("walk"))
	slices.Sort(theirs) // which C does not if an ID has come back
	slices.Sort(walk)
	if !slices.Equal(walk, theirs) {
		m.t.Fatalf("walk %v, want as in C %v; after\n%s", walk, theirs, strings.Join(m.log, "\n"))
	}
	for e := range m.cache.Inactive() {
		m.same(found(e, true, "%s %d", hexed(e.Name), e.Value), "id %d", e.ID)
	}
	for e := range m.cache.Active() {
		m.same(found(e, true, "%s %d", hexed(e.Name), e.Value), "id %d", e.ID)
		by, ok := m.cache.LookupName(e.Name)
		m.same(found(by, ok, "%d %d", e.ID, e.Value), "name %s", hexed(e.Name))
	}
}

// TestInteropCacheModel runs random sequences of operations on a Cache and on the C
// library's: the IDs, states, values, codes and files are the same.
func TestInteropCacheModel(t *testing.T) {
	c := newCCache(t)
	serial := 0
	for i := range *cacheSequences {
		seed := *cacheSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &cacheModel{t: t, r: rand.New(rand.NewPCG(seed, 14)), c: c, dir: t.TempDir(), serial: &serial, last: -1}
			serial++
			m.cache = &pmda.Cache[int]{File: filepath.Join(m.dir, "cache")}
			m.same("0", "use 200 %d", serial)
			for range 150 {
				m.step()
			}
			m.restart()
		})
	}
}
