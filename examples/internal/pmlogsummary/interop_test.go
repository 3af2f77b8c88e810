package pmlogsummary

import (
	"flag"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
)

var all = flag.Bool("all", false, "compare the summaries of all archives of PCP's test suite, which takes minutes, and not only of short ones")

const index = "PCP fails with a wrong index, which is not needed"

// TestInteropArchives compares what PCP's tool and ours print of archives.
func TestInteropArchives(t *testing.T) {
	options := []string{"-aHliIv -B 5"}
	if *all {
		options = append(options, "", "-xFp 6", "-s -B 3 -p 9", "-bfyMiz", "-S 2sec -T 10sec -amiM", "-sxmIyB3 -Z EST-10 -S 1min -T -2sec")
	}
	toolcmp.Archives(t, "pmlogsummary", options, *all, map[string]string{
		"* archives/pcp-mpstat3":                index,
		"* badarchives/20180608.04.23-01":       index,
		"* badarchives/badlen-1":                index,
		"* badarchives/badti-2":                 index,
		"* badarchives/badti-4":                 index,
		"* badarchives/archive-20150417.131733": "PCP does not find the last complete record",
	})
}

// TestInteropOptions compares what PCP's tool and ours print with each option, and of errors.
func TestInteropOptions(t *testing.T) {
	toolcmp.Lines(t, "pmlogsummary",
		"pmlogsummary archives/ok-foo",
		"pmlogsummary -a archives/ok-foo",
		"pmlogsummary -b archives/ok-foo",
		"pmlogsummary -b -B 3 -H archives/ok-foo sample.colour",
		"pmlogsummary --bins=0 -H archives/ok-foo",
		"pmlogsummary -B '' archives/ok-foo",
		"pmlogsummary -B x archives/ok-foo",
		"pmlogsummary -B -1 archives/ok-foo",
		"pmlogsummary -fH archives/ok-foo",
		"pmlogsummary -FH archives/ok-foo",
		"pmlogsummary -H archives/ok-foo",
		"pmlogsummary -i archives/mark-bug",
		"pmlogsummary -I archives/mark-bug",
		"pmlogsummary -iImMy -H archives/binning",
		"pmlogsummary -iIl archives/bozo-20170904 kernel.all.load",
		"pmlogsummary -l archives/ok-foo",
		"pmlogsummary -m archives/ok-foo",
		"pmlogsummary -M archives/ok-foo",
		"pmlogsummary -n /nonexistent archives/ok-foo",
		"pmlogsummary -N archives/540117-short",
		"pmlogsummary -v archives/540117-short",
		"pmlogsummary -v -N archives/540117-short",
		"pmlogsummary -p 7 archives/ok-foo",
		"pmlogsummary -p -1 archives/ok-foo",
		"pmlogsummary -p '' archives/ok-foo",
		"pmlogsummary -p 1x archives/ok-foo",
		"pmlogsummary -s archives/cputime",
		"pmlogsummary -s -a archives/cputime",
		"pmlogsummary -a -s archives/cputime",
		"pmlogsummary -s -m -M -y -l -H archives/cputime",
		"pmlogsummary -x archives/cputime",
		"pmlogsummary -x -b -H archives/cputime",
		"pmlogsummary -b -x -H archives/cputime",
		"pmlogsummary -S 2sec -al archives/ok-foo",
		"pmlogsummary -S @18:34:35 -T @18:34:38 -al archives/ok-foo",
		"pmlogsummary -S 1min -T 5sec -al archives/ok-foo",
		"pmlogsummary -S @foo archives/ok-foo",
		"pmlogsummary -T -0x archives/ok-foo",
		"pmlogsummary -A 1sec archives/ok-foo",
		"pmlogsummary -y archives/omnibus_v3",
		"pmlogsummary -z -l archives/ok-foo",
		"pmlogsummary -Z EST-10 -l archives/ok-foo",
		"pmlogsummary -z -Z UTC archives/ok-foo",
		"pmlogsummary -D foo archives/ok-foo",
		"pmlogsummary -l -T '' archives/ok-foo",
		"pmlogsummary -V",
		"pmlogsummary '-?'",
		"pmlogsummary --all --header --mintime --maxtime --label --minimum --maximum --samples --verbose archives/gap2",
		"pmlogsummary --sum --precision=1 --start=1sec --finish=5sec --timezone=UTC archives/ok-foo",
		"pmlogsummary",
		"pmlogsummary archives/nonexistent",
		"pmlogsummary archives/arch_a,archives/arch_b",
		"pmlogsummary -al archives/multi",
		"pmlogsummary archives/wrap",
		"PCP_COUNTER_WRAP=1 pmlogsummary -a archives/wrap",
		"PCP_COUNTER_WRAP=1 pmlogsummary -B 3 -amM -p 9 archives/pcp-ss",
		"pmlogsummary badarchives/logsummary-bug",
		"pmlogsummary -v badarchives/logsummary-bug",
		"pmlogsummary -v badarchives/badmeta-1",
		"pmlogsummary -l badarchives/badlen-2",
	)
}

// TestInteropMetrics compares what PCP's tool and ours print of metrics and instances that are
// named.
func TestInteropMetrics(t *testing.T) {
	toolcmp.Lines(t, "pmlogsummary",
		"pmlogsummary archives/ok-foo sample.bin sample.seconds",
		"pmlogsummary archives/ok-foo sample",
		"pmlogsummary archives/ok-foo sample.drift sample sample.drift",
		"pmlogsummary archives/ok-foo 'sample.bin[bin-300,bin-100]'",
		"pmlogsummary archives/ok-foo 'sample[red,bin-200]'",
		"pmlogsummary archives/ok-foo 'sample.colour[red green]' 'sample.colour[blue]'",
		"pmlogsummary archives/ok-foo 'sample.seconds[1]' sample.drift",
		"pmlogsummary archives/ok-foo 'sample.bin['",
		"pmlogsummary archives/ok-foo ''",
		"pmlogsummary archives/ok-foo foo/sample.colour local:sample.seconds @:sample.drift",
		"pmlogsummary archives/ok-foo no.such.metric sample.seconds",
		"pmlogsummary -l archives/ok-foo no.such.metric",
		"pmlogsummary -v archives/540117-short kernel.all.load no.such.metric 'hinv[' hinv",
		"pmlogsummary -v badarchives/badmeta-1 sample.colour",
		"pmlogsummary -vB 3 archives/540117-short hinv.ncpu hinv.ncpu kernel.all.load no.such.metric",
		"pmlogsummary -v badarchives/logsummary-bug kernel.all",
		"pmlogsummary -v badarchives/archive-20141125-000009 proc.nprocs",
		"pmlogsummary archives/dupname-b",
		"pmlogsummary archives/dupname-b hinv.cpu.block hinv.cpu.clock",
	)
}
