package pmdalinux_test

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// liveInterrupts are metrics of interrupts, soft interrupts, pressure, users that come from system
// calls, not from a tree, with the reason.
var liveInterrupts = map[string]string{
	"kernel.all.nusers":    utmpIsLive,
	"kernel.all.nroots":    utmpIsLive,
	"kernel.all.nsessions": utmpIsLive,
}

const utmpIsLive = "the C agent calls the C library, which reads /var/run/utmp"

// cpuTree returns a tree of a machine with n processors.
func cpuTree(n int) files {
	stat := "cpu  1 2 3 4 5 6 7 8 9 10\n"
	f := files{}
	for cpu := range n {
		stat += fmt.Sprintf("cpu%d 1 2 3 4 5 6 7 8 9 10\n", cpu)
		f[fmt.Sprintf("sys/devices/system/cpu/cpu%d/online", cpu)] = "1\n"
	}
	f["proc/stat"] = stat
	return f
}

// TestInterrupts compares the values of good and damaged files.
func TestInterrupts(t *testing.T) {
	names := []string{
		"kernel.all.interrupts.errors", "kernel.all.interrupts.missed", "kernel.all.interrupts.total",
		"kernel.percpu.interrupts", "kernel.percpu.intr",
	}
	failed := func(err string) string { return strings.Join(names, ": "+err+"\n") + ": " + err + "\n" }
	bad := failed("Generic error, already reported above")
	for _, tt := range []struct{ name, text, want string }{
		{"good", `           CPU0       CPU1
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
LOC:   17952806   17830258   Local timer interrupts
ERR:          7
MIS:          8
PIN:          0          9   Posted-interrupt notification event
`, `kernel.all.interrupts.errors 7
kernel.all.interrupts.missed 8
kernel.all.interrupts.total 0 "24" 1 1 "LOC" 35783064 2 "PIN" 9
kernel.percpu.interrupts 0 "24::cpu0" 1 1 "24::cpu1" 0 2 "LOC::cpu0" 17952806 3 "LOC::cpu1" 17830258 4 "PIN::cpu0" 0 5 "PIN::cpu1" 9
kernel.percpu.intr 0 "cpu0" 17952807 1 "cpu1" 17830267
`},
		{"indented", "            CPU0       CPU1\n  24:          1          2\n ERR:          3\n MIS:          4\n",
			`kernel.all.interrupts.errors 3
kernel.all.interrupts.missed 4
kernel.all.interrupts.total 0 "24" 3 1 "ERR" 3 2 "MIS" 4
kernel.percpu.interrupts 0 "24::cpu0" 1 1 "24::cpu1" 2 2 "ERR::cpu0" 3 3 "ERR::cpu1" 0 4 "MIS::cpu0" 4 5 "MIS::cpu1" 0
kernel.percpu.intr 0 "cpu0" 8 1 "cpu1" 2
`},
		{"a processor that is off", "           CPU1\n 24:  5 x\nErr: 6\n",
			`kernel.all.interrupts.errors 6
kernel.all.interrupts.missed: Metric not supported by this version of monitored application
kernel.all.interrupts.total 0 "24" 5
kernel.percpu.interrupts 0 "24::cpu1" 5
kernel.percpu.intr 1 "cpu1" 5
`},
		{"damaged lines", "           CPU0       CPU1\n  1:  1\n  2:  1 x\n  3:  1 -2\n  4:  1 4294967296\n  5:  4294967295 4294967295\n 6 7: 1 1\n: 1 1\n8 1 1\n" +
			"\x00: 1 1\n  5:  9 9\n  9:  1 2x\nERR: many\n 10:  1 1",
			`kernel.all.interrupts.errors: Metric not supported by this version of monitored application
kernel.all.interrupts.missed: Metric not supported by this version of monitored application
kernel.all.interrupts.total 0 "5" 8589934590
kernel.percpu.interrupts 0 "5::cpu0" 4294967295 1 "5::cpu1" 4294967295
`},
		{"cut off", "           CPU0       CPU1\n 24:  1  2\nLOC:  3", `kernel.all.interrupts.errors: Metric not supported by this version of monitored application
kernel.all.interrupts.missed: Metric not supported by this version of monitored application
kernel.all.interrupts.total 0 "24" 3
kernel.percpu.interrupts 0 "24::cpu0" 1 1 "24::cpu1" 2
`},
		{"ARM", "           CPU0       CPU1\n 16:  1  2  GIC 25 Level  vgic\nFIQ:              usb_fiq\nIPI0:  3  4  Rescheduling interrupts\nErr:  0\n",
			`kernel.all.interrupts.errors 0
kernel.all.interrupts.missed: Metric not supported by this version of monitored application
kernel.all.interrupts.total 0 "16" 3 1 "IPI0" 7
kernel.percpu.interrupts 0 "16::cpu0" 1 1 "16::cpu1" 2 2 "IPI0::cpu0" 3 3 "IPI0::cpu1" 4
kernel.percpu.intr 0 "cpu0" 4 1 "cpu1" 6
`},
		{"no processors", "  1:  1 1\n", bad},
		{"a processor twice", "CPU0 CPU0\n  1:  1 1\n", bad},
		{"a huge processor", "CPU99999999\n  1:  1 1\n", bad},
		{"empty", "", failed("Metric not supported by this version of monitored application")},
		{"no file", "-", failed("Metric not supported by this version of monitored application")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := cpuTree(2)
			if tt.text != "-" {
				tree["proc/interrupts"] = tt.text
			}
			if diff := cmp.Diff(tt.want, only(tree.valuesOf(t, names...))); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// interruptFiles matches files of machines with 1 to 1152 processors.
const interruptFiles = "/var/lib/pcp/testsuite/linux/interrupts-*"

// interruptTrees returns trees with those files, by number of processors.
func interruptTrees(t testing.TB) map[int]string {
	t.Helper()
	list, err := filepath.Glob(interruptFiles)
	if err != nil || len(list) == 0 {
		pcptest.Need(t, interruptFiles)
	}
	trees := map[int]string{}
	for _, path := range list {
		text := unzip(t, path)
		head, _, _ := strings.Cut(text, "\n")
		n := len(strings.Fields(head))
		tree := cpuTree(n)
		tree["proc/interrupts"] = text
		if soft := strings.Replace(path, "interrupts-", "softirqs-", 1); exists(soft) {
			tree["proc/softirqs"] = unzip(t, soft)
		}
		trees[n] = tree.write(t)
	}
	return trees
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unzip reads a file that may be compressed.
func unzip(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".bz2") {
		b, err = io.ReadAll(bzip2.NewReader(bytes.NewReader(b)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestInterruptFiles compares the interrupts of other machines with the C agent, which must be told
// their number of processors. With 1152 processors it does not reply in time.
func TestInterruptFiles(t *testing.T) {
	pcptest.Need(t, "pmcd")
	names := []string{
		"kernel.all.interrupts.errors", "kernel.all.interrupts.missed", "kernel.all.interrupts.total", "kernel.all.softirqs.total",
		"kernel.percpu.interrupts", "kernel.percpu.intr", "kernel.percpu.sirq", "kernel.percpu.softirqs",
	}
	for n, root := range interruptTrees(t) {
		if n > 100 {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			want := cAgent(t, root, fmt.Sprint("LINUX_NCPUS=", n)).snapshot(names)
			if len(want.values["kernel.all.interrupts.total"]) == 0 {
				t.Fatal("the C agent has no interrupts")
			}
			for _, d := range differences(names, want, ourAgent(t, root).snapshot(names), want) {
				t.Error(d)
			}
		})
	}
}

// TestManyProcessors checks the sums on 1152 processors.
func TestManyProcessors(t *testing.T) {
	root, ok := interruptTrees(t)[1152]
	if !ok {
		t.Skip("needs the file of 1152 processors")
	}
	our := ourAgent(t, root)
	for _, tt := range []struct {
		file, total, sum, cell string
		lines                  int
	}{
		{"interrupts", "kernel.all.interrupts.total", "kernel.percpu.intr", "", 1056},
		{"softirqs", "kernel.all.softirqs.total", "kernel.percpu.sirq", "kernel.percpu.softirqs", 10},
	} {
		lines := strings.Split(strings.TrimSpace(unzip(t, filepath.Join(root, "proc", tt.file))), "\n")
		head := strings.Fields(lines[0])
		totals, sums, cells := map[string]string{}, map[string]string{}, map[string]string{}
		all := make([]uint64, len(head))
		for i, line := range lines[1:] {
			fields := strings.Fields(line)
			kind, total := strings.TrimSuffix(fields[0], ":"), uint64(0)
			for j, cpu := range head {
				if fields = fields[1:]; len(fields) == 0 { // ERR and MIS
					break
				}
				v, err := strconv.ParseUint(fields[0], 10, 32)
				if err != nil {
					t.Fatal(err)
				}
				total += v
				all[j] += v
				cells[fmt.Sprintf("%d %q", i*len(head)+j, kind+"::"+strings.ToLower(cpu))] = fields[0]
			}
			totals[fmt.Sprintf("%d %q", i, kind)] = fmt.Sprint(total)
		}
		for j, cpu := range head {
			sums[fmt.Sprintf("%d %q", j, strings.ToLower(cpu))] = fmt.Sprint(all[j])
		}
		if len(totals) != tt.lines {
			t.Fatalf("%s has %d lines, want %d", tt.file, len(totals), tt.lines)
		}
		for metric, want := range map[string]map[string]string{tt.total: totals, tt.sum: sums, tt.cell: cells} {
			if metric == "" {
				continue // a reply cannot hold a million instances
			}
			got := map[string]string{}
			for inst, a := range our.snapshot([]string{metric}).values[metric] {
				got[inst] = text(a)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s has %d instances, want %d: (-want +got)\n%.1000s", metric, len(got), len(want), diff)
			}
		}
	}
}

// TestInterruptsChange checks that a new kind of interrupt gets a new ID and that the others keep
// theirs, even when a processor is switched off.
func TestInterruptsChange(t *testing.T) {
	tree := cpuTree(2)
	tree["proc/interrupts"] = "  CPU0 CPU1\n 1: 10 11\n 3: 30 31\n"
	root := tree.write(t)
	our := ourAgent(t, root)
	names := []string{"kernel.all.interrupts.total", "kernel.percpu.interrupts"}
	for _, step := range []struct{ text, want string }{
		{tree["proc/interrupts"], `kernel.all.interrupts.total 0 "1" 21 1 "3" 61
kernel.percpu.interrupts 0 "1::cpu0" 10 1 "1::cpu1" 11 2 "3::cpu0" 30 3 "3::cpu1" 31
`},
		{"  CPU0 CPU1\n 1: 10 11\n 2: 20 21\n 3: 30 31\n", `kernel.all.interrupts.total 0 "1" 21 1 "3" 61 2 "2" 41
kernel.percpu.interrupts 0 "1::cpu0" 10 1 "1::cpu1" 11 2 "3::cpu0" 30 3 "3::cpu1" 31 4 "2::cpu0" 20 5 "2::cpu1" 21
`},
		{"  CPU1\n 2: 21\n 3: 31\n", `kernel.all.interrupts.total 1 "3" 31 2 "2" 21
kernel.percpu.interrupts 3 "3::cpu1" 31 5 "2::cpu1" 21
`},
	} {
		write(t, root, "proc/interrupts", step.text)
		if diff := cmp.Diff(step.want, our.snapshot(names).String()); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
}

// TestInterruptLabels checks that labels have the texts of interrupts, with quotes and stray bytes
// escaped, and that they follow changes of the file.
func TestInterruptLabels(t *testing.T) {
	tree := cpuTree(1)
	tree["proc/interrupts"] = "  CPU0\n 24: 1  IO-APIC \t 5-edge   ti\"mer\\\nLOC: 2\n"
	root := tree.write(t)
	our := ourAgent(t, root)
	for _, step := range []struct{ text, want string }{
		{tree["proc/interrupts"], `{"cpu":0,"irq":"24","irqtext":"IO-APIC 5-edge ti\"mer\\"} {"cpu":0,"irq":"LOC","irqtext":""}`},
		{"  CPU0\n 24: 1  other\nLOC: 2\n", `{"cpu":0,"irq":"24","irqtext":"other"} {"cpu":0,"irq":"LOC","irqtext":""}`},
	} {
		write(t, root, "proc/interrupts", step.text)
		sets, err := our.InstanceLabels(t.Context(), pdu.MakeInDom(pmdalinux.Domain, 40))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, set := range sets {
			got = append(got, set.String())
		}
		if diff := cmp.Diff(step.want, strings.Join(got, " ")); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
}

// TestPressure compares the values of good and damaged files.
func TestPressure(t *testing.T) {
	names := []string{
		"kernel.all.pressure.cpu.some.avg", "kernel.all.pressure.cpu.some.total",
		"kernel.all.pressure.io.full.avg", "kernel.all.pressure.io.full.total", "kernel.all.pressure.io.some.avg", "kernel.all.pressure.io.some.total",
		"kernel.all.pressure.irq.full.avg", "kernel.all.pressure.irq.full.total",
	}
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"good", files{
			"proc/pressure/cpu": "some avg10=1.25 avg60=0.50 avg300=3.00 total=3661676251\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			"proc/pressure/io":  "some avg10=1.00 avg60=2.00 avg300=3.00 total=4\nfull avg10=5.00 avg60=6.00 avg300=7.00 total=8\n",
			"proc/pressure/irq": "full avg10=100.00 avg60=0.50 avg300=0.25 total=18446744073709551615\n",
		}, `kernel.all.pressure.cpu.some.avg 10 "10 second" 1.25 60 "1 minute" 0.5 300 "5 minute" 3
kernel.all.pressure.cpu.some.total 3661676251
kernel.all.pressure.io.full.avg 10 "10 second" 5 60 "1 minute" 6 300 "5 minute" 7
kernel.all.pressure.io.full.total 8
kernel.all.pressure.io.some.avg 10 "10 second" 1 60 "1 minute" 2 300 "5 minute" 3
kernel.all.pressure.io.some.total 4
kernel.all.pressure.irq.full.avg 10 "10 second" 100 60 "1 minute" 0.5 300 "5 minute" 0.25
kernel.all.pressure.irq.full.total 18446744073709551615
`},
		{"damaged", files{
			"proc/pressure/cpu": "some avg10=1.25 avg60=0.50 avg300=3.00 total=36",
			"proc/pressure/io":  "some avg10=1.00 avg60=NaN avg300=3.00 total=4\nfull avg10=5.00 avg60=6.00 avg300=107.00 total=8\n",
			"proc/pressure/irq": "full avg10=1.00 avg300=0.25 total=5\n\x00\n",
		}, ""},
		{"no files", files{"proc/pressure/io": ""}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, only(tt.tree.valuesOf(t, names...))); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// utmpRecord makes a record of /var/run/utmp.
func utmpRecord(kind uint16, user string) string {
	size := 384
	switch runtime.GOARCH {
	case "arm64", "riscv64", "loong64":
		size = 400
	}
	b := make([]byte, size)
	binary.NativeEndian.PutUint16(b, kind)
	copy(b[44:76], user)
	return string(b)
}

// TestUsers counts records of all kinds, and compares the numbers with the C agent.
func TestUsers(t *testing.T) {
	all := utmpRecord(2, "reboot") + utmpRecord(1, "runlevel") + utmpRecord(6, "LOGIN") + utmpRecord(7, "root") + utmpRecord(7, "alice") + utmpRecord(7, "alice") + utmpRecord(7, "bob") +
		utmpRecord(8, "carol") + utmpRecord(7, "")
	for _, tt := range []struct {
		name, text           string
		roots, records, user int
	}{
		{"all kinds", all, 1, 8, 4},
		{"cut off", all[:len(all)-400], 1, 7, 4},
		{"a long name", utmpRecord(7, strings.Repeat("r", 40)) + utmpRecord(7, "root2"), 0, 2, 2},
		{"empty", "", 0, 0, 0},
		{"something else", "hello\n", 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := fmt.Sprintf("kernel.all.nroots %d\nkernel.all.nsessions %d\nkernel.all.nusers %d\n", tt.roots, tt.records, tt.user)
			got := files{"var/run/utmp": tt.text}.valuesOf(t, "kernel.all.nusers", "kernel.all.nroots", "kernel.all.nsessions")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
	if got, want := (files{}).valuesOf(t, "kernel.all.nusers"), "kernel.all.nusers 0\n"; got != want {
		t.Errorf("without a file there is %q, want %q", got, want)
	}
}

// interruptPrefixes are the prefixes of the metrics of this subject.
var interruptPrefixes = []string{
	"kernel.all.interrupts", "kernel.all.softirqs", "kernel.percpu.intr", "kernel.percpu.interrupts", "kernel.percpu.sirq", "kernel.percpu.softirqs",
	"kernel.all.pressure", "kernel.all.entropy", "kernel.all.pid_max", "kernel.all.nptys", "kernel.all.nusers",
}

// TestInterruptsSteady checks that fetches of interrupts and pressure allocate nothing.
func TestInterruptsSteady(t *testing.T) {
	tree := cpuTree(2)
	tree["proc/interrupts"] = "  CPU0 CPU1\n 1: 10 11\n 3: 30 31\n"
	tree["proc/softirqs"] = "  CPU0 CPU1\n HI: 10 11\n TIMER: 30 31\n"
	for _, name := range []string{"cpu", "memory", "io", "irq"} {
		tree["proc/pressure/"+name] = "some avg10=1.25 avg60=0.50 avg300=3.00 total=36\nfull avg10=1.25 avg60=0.50 avg300=3.00 total=36\n"
	}
	for _, name := range []string{"random/entropy_avail", "random/poolsize", "pid_max", "pty/nr"} {
		tree["proc/sys/kernel/"+name] = "12\n"
	}
	if n := testing.AllocsPerRun(100, steadyFetch(t, tree.write(t), interruptPrefixes...)); n != 0 && !raceEnabled {
		t.Errorf("a fetch allocates %v times", n)
	}
}

// BenchmarkInterrupts fetches the interrupts of machines with 1 to 1152 processors: the totals,
// those per kind and per processor, and each kind of each processor.
func BenchmarkInterrupts(b *testing.B) {
	for n, root := range interruptTrees(b) {
		for _, which := range [][]string{
			{"kernel.all.interrupts", "kernel.percpu.intr"}, {"kernel.percpu.interrupts"}, {"kernel.percpu.softirqs"},
		} {
			b.Run(fmt.Sprintf("cpus=%d/%s", n, which[0]), func(b *testing.B) {
				fetch := steadyFetch(b, root, which...)
				b.ReportAllocs()
				for b.Loop() {
					fetch()
				}
			})
		}
	}
}
