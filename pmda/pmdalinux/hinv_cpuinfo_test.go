package pmdalinux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestCPUInfo checks the formats of several architectures, and damaged files.
func TestCPUInfo(t *testing.T) {
	const (
		stat = "cpu  1\ncpu0 1\ncpu1 1\ncpu3 1\n"
		none = "Metric not supported by this version of monitored application"
	)
	for _, tt := range []struct {
		name, metrics, text, want string
	}{
		{"x86", "vendor model model_name stepping flags clock cache cache_alignment bogomips",
			"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 47\nmodel name\t: Intel(R)  @ 2.13GHz: x\nstepping\t: 2\n" +
				"cpu MHz\t\t: 2128.037\ncache size\t: 24576 KB\nflags\t\t: fpu vme \nbogomips\t: 4256.07\ncache_alignment\t: 64\npower management:\n\n" +
				"processor\t: 3\nvendor_id\t: AuthenticAMD\nmodel\t\t: 9\nmodel name\t: AMD\nstepping\t: 1\n\n", `
bogomips 0 "cpu0" 4256.07
cache 0 "cpu0" 24576
cache_alignment 0 "cpu0" 64
clock 0 "cpu0" 2128.037
flags 0 "cpu0" fpu vme 3 "cpu3" unknown
model 0 "cpu0" 47 3 "cpu3" 9
model_name 0 "cpu0" Intel(R)  @ 2.13GHz: x 3 "cpu3" AMD
stepping 0 "cpu0" 2 3 "cpu3" 1
vendor 0 "cpu0" GenuineIntel 3 "cpu3" AuthenticAMD
`},
		{"numbers first", "vendor model model_name stepping", "Processor\t: AArch64 rev 0 (aarch64)\nprocessor\t: 0\nprocessor\t: 1\nprocessor\t: 3\n" +
			"CPU implementer\t: 0x50\nCPU architecture: AArch64\nCPU variant\t: 0x0\nCPU revision\t: 7\n\nHardware\t: APM\n", `
model 0 "cpu0" 0x0 1 "cpu1" 0x0 3 "cpu3" 0x0
model_name 0 "cpu0" APM 1 "cpu1" APM 3 "cpu3" APM
stepping 0 "cpu0" 7 1 "cpu1" 7 3 "cpu3" 7
vendor 0 "cpu0" 0x50 1 "cpu1" 0x50 3 "cpu3" 0x50
`},
		{"no numbers", "clock model model_name bogomips", "cpu\t: Alpha\ncpu model\t: EV56\ncycle frequency [Hz]\t: 499714426 est.\nBogoMIPS\t: 992.88\n", `
bogomips 0 "cpu0" 992.88 1 "cpu1" 992.88 3 "cpu3" 992.88
clock 0 "cpu0" 499.71442 1 "cpu1" 499.71442 3 "cpu3" 499.71442
model 0 "cpu0" EV56 1 "cpu1" EV56 3 "cpu3" EV56
model_name 0 "cpu0" EV56 1 "cpu1" EV56 3 "cpu3" EV56
`},
		{"numbers last", "vendor flags bogomips clock", "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 2913.00\nfeatures\t: esan3 zarch \n" +
			"processor 0: version = FF,  identification = 32C047\nprocessor 1: version = FF\n\ncpu MHz dynamic : 5504\ncpu MHz static : 5500\n", `
bogomips 0 "cpu0" 2913 1 "cpu1" 2913
clock 0 "cpu0" 5500 1 "cpu1" 5500
flags 0 "cpu0" esan3 zarch 1 "cpu1" esan3 zarch
vendor 0 "cpu0" IBM/S390 1 "cpu1" IBM/S390
`},
		{"groups", "vendor", "processor : 0\nprocessor : 1\nvendor : a\nprocessor : 3\nvendor : b\nvendor : c\n", `
vendor 0 "cpu0" a 1 "cpu1" a 3 "cpu3" b
`},
		{"other order", "vendor", "processor : 3\nvendor : b\nprocessor : 0\nvendor : a\nprocessor : 3\nvendor : c\n", `
vendor 0 "cpu0" a 3 "cpu3" b
`},
		{"nothing known", "vendor model clock", "\n", `
clock
model 0 "cpu0" unknown 1 "cpu1" unknown 3 "cpu3" unknown
vendor 0 "cpu0" unknown 1 "cpu1" unknown 3 "cpu3" unknown
`},
		{"zeros", "clock cache bogomips cache_alignment", "cpu MHz : 0.000\ncache size : 0 KB\nbogomips : 0.00\ncache_alignment : 0\n", `
bogomips
cache
cache_alignment
clock
`},
		{"no numbers where they are due", "clock cache bogomips cache_alignment", "cpu MHz : -5\ncache size : 99999999999 KB\nbogomips : nan\ncache_alignment : 0x40\n", `
bogomips
cache
cache_alignment
clock
`},
		{"other numbers", "clock cache bogomips", "cpu MHz : 1e3\ncache size : 5 MB\nbogomips : " + strings.Repeat("9", 400) + "\n", `
bogomips
cache
clock
`},
		{"no processor", "vendor", "processor : 2147483648\nvendor : a\nprocessor : 99999999999999999999\nprocessor : x\nprocessor\nprocessor : -1\n", `
vendor 0 "cpu0" a 1 "cpu1" a 3 "cpu3" a
`},
		{"damaged text", "vendor model flags stepping", "vendor : a\x00b\nmodel name" + "\nflags : " + strings.Repeat("x", 20<<10) + "\nstepping : 5", `
flags
model 0 "cpu0" unknown 1 "cpu1" unknown 3 "cpu3" unknown
stepping 0 "cpu0" unknown 1 "cpu1" unknown 3 "cpu3" unknown
vendor
`},
		{"no file", "vendor clock cache", "", "\ncache: " + none + "\nclock: " + none + "\nvendor: " + none + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := files{"proc/stat": stat, "proc/cpuinfo": tt.text}
			if tt.text == "" {
				delete(tree, "proc/cpuinfo")
			}
			var names []string
			for n := range strings.FieldsSeq(tt.metrics) {
				names = append(names, "hinv.cpu."+n)
			}
			got := "\n" + strings.ReplaceAll(tree.valuesOf(t, names...), "hinv.cpu.", "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestCPUInfoAgain checks that nothing remains of an earlier reading when the file changes.
func TestCPUInfoAgain(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/stat", "cpu0 1\ncpu1 1\n")
	our := ourAgent(t, root)
	for _, tt := range []struct{ text, want string }{
		{"processor : 0\nvendor : a\nbogomips : 5\nprocessor : 1\nvendor : b\nbogomips : 6\n",
			"hinv.cpu.bogomips 0 \"cpu0\" 5 1 \"cpu1\" 6\nhinv.cpu.vendor 0 \"cpu0\" a 1 \"cpu1\" b\n"},
		{"processor : 1\nvendor : c\n", "hinv.cpu.bogomips\nhinv.cpu.vendor 1 \"cpu1\" c\n"},
		{"vendor : d\n", "hinv.cpu.bogomips\nhinv.cpu.vendor 0 \"cpu0\" d 1 \"cpu1\" d\n"},
		{"processor : 0\nprocessor : 1\n", "hinv.cpu.bogomips\nhinv.cpu.vendor 0 \"cpu0\" unknown 1 \"cpu1\" unknown\n"},
	} {
		write(t, root, "proc/cpuinfo", tt.text)
		if diff := cmp.Diff(tt.want, our.snapshot([]string{"hinv.cpu.vendor", "hinv.cpu.bogomips"}).String()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tt.text, diff)
		}
	}
}

// TestCPUInfoTrees compares both agents on the files of other machines in PCP's own tests.
func TestCPUInfoTrees(t *testing.T) {
	const all = "/var/lib/pcp/testsuite/linux/cpuinfo-*"
	pcptest.Need(t, "pmcd")
	list, err := filepath.Glob(all)
	if err != nil || len(list) == 0 {
		pcptest.Need(t, all)
	}
	number := regexp.MustCompile(`cpuinfo-(\d+)cpu-`)
	for _, path := range list {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.Atoi(number.FindStringSubmatch(path)[1])
			if err != nil {
				t.Fatal(err)
			}
			stat := "cpu  1 2 3 4 5 6 7 8 9 10\n"
			for i := range n {
				stat += fmt.Sprintf("cpu%d 1 2 3 4 5 6 7 8 9 10\n", i)
			}
			stat += "intr 1\n"
			root := t.TempDir()
			write(t, root, "proc/cpuinfo", string(text))
			write(t, root, "proc/stat", stat)
			sameOnTree(t, root)
		})
	}
}
