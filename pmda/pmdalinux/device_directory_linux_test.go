package pmdalinux_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTapes compares the values of tape drives.
func TestTapes(t *testing.T) {
	const dir = "sys/class/scsi_tape/"
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"none", files{}, "hinv.ntape 0\ntape.dev.in_flight\ntape.dev.io_ns\n"},
		{"names", files{dir + "st12/stats/io_ns": "7", dir + "st12a/stats/io_ns": "8", dir + "nst12/stats/io_ns": "9", dir + "st/stats/io_ns": "1", dir + "foo0/stats/io_ns": "2"},
			"hinv.ntape 1\ntape.dev.in_flight\ntape.dev.io_ns 0 \"st12\" 7\n"},
		{"old kernel", files{dir + "st0/dev": "9:0\n"}, "hinv.ntape 1\ntape.dev.in_flight\ntape.dev.io_ns\n"},
		{"copied", files{dir + "st0/stats/in_flight": "1\n\x00\x00\x00", dir + "st0/stats/io_ns": "2\x00\x00"}, "hinv.ntape 1\ntape.dev.in_flight 0 \"st0\" 1\ntape.dev.io_ns 0 \"st0\" 2\n"},
		{"damaged", files{dir + "st0/stats/in_flight": "-1", dir + "st0/stats/io_ns": "1\x002"}, "hinv.ntape 1\ntape.dev.in_flight\ntape.dev.io_ns\n"},
		{"more damaged", files{dir + "st0/stats/in_flight": "", dir + "st0/stats/io_ns": "99999999999999999999\n"}, "hinv.ntape 1\ntape.dev.in_flight\ntape.dev.io_ns\n"},
		{"a file", files{dir + "st0/stats": "5"}, "hinv.ntape 1\ntape.dev.in_flight\ntape.dev.io_ns\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.tree.valuesOf(t, "hinv.ntape", "tape.dev.in_flight", "tape.dev.io_ns")); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// fcHosts are two adapters. host10 lacks some of the counts.
var fcHosts = func() files {
	f := files{}
	for name, text := range map[string]string{
		"host3/statistics/rx_frames": "0x6e22", "host3/statistics/rx_words": "0x8b0848", "host3/statistics/tx_frames": "0x39ce", "host3/statistics/tx_words": "0x1000000000",
		"host3/statistics/lip_count": "0x1", "host3/statistics/nos_count": "0x2", "host3/statistics/error_frames": "0x3", "host3/statistics/dumped_frames": "0x4",
		"host10/statistics/rx_frames": "0x5", "host10/statistics/dumped_frames": "0xffffffffffffffff", "host10/statistics/tx_words": "0x4000000000000000",
		"host10/statistics/lip_count": "17", "host10/statistics/nos_count": "0x", "host10/statistics/error_frames": "0x99999999999999999",
	} {
		f["sys/class/fc_host/"+name] = text + "\n"
	}
	f["sys/class/fc_host/host11/port_name"] = "0x1\n"
	return f
}()

// TestFCHosts checks the two metrics that the C agent swaps, and damaged and missing values.
func TestFCHosts(t *testing.T) {
	p := ourAgent(t, fcHosts.write(t)).snapshot([]string{"fchost.in.frames", "fchost.in.bytes", "fchost.out.frames", "fchost.out.bytes",
		"fchost.lip_count", "fchost.nos_count", "fchost.error_frames", "fchost.dumped_frames", "hinv.nfchost"})
	for name := range p.values {
		if name != "hinv.nfchost" {
			p.dropIDs(name) // IDs depend on the order of the directory
		}
	}
	want := `fchost.dumped_frames "host3" 4
fchost.error_frames "host3" 3
fchost.in.bytes "host3" 36446496
fchost.in.frames "host10" 5 "host3" 28194
fchost.lip_count "host3" 1
fchost.nos_count "host3" 2
fchost.out.bytes "host3" 274877906944
fchost.out.frames "host3" 14798
hinv.nfchost 3
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}
