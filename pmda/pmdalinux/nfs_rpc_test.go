package pmdalinux_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// misreadNFS are metrics that the C agent misreads.
var misreadNFS = []string{"rpc.server.nettcpconn"} // it reads nettcpcnt, the number before

// misreadPools are such metrics if there are several pools.
var misreadPools = append([]string{"nfs.server.threads.total"}, misreadNFS...) // it reads only the first pool

// procedures returns a line of n numbers, which all differ.
func procedures(word string, n, from int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", word, n)
	for i := range n {
		fmt.Fprintf(&b, " %d", from+i)
	}
	return b.String() + "\n"
}

// nfsFiles are files of a client and server in the formats of some kernels, with different numbers.
var nfsFiles = map[string]files{
	"2.6.9": {
		"proc/net/rpc/nfs": "net 1 2 3 4\nrpc 11 12 13\n" + procedures("proc2", 18, 101) + procedures("proc3", 22, 201) + procedures("proc4", 35, 301),
		"proc/net/rpc/nfsd": "rc 21 22 23\nfh 31 32 33 34 35\nio 4294967295 42\n" +
			"th 8 51 4294.967 0.001 0.002 0.003 0.004 0.005 0.006 0.007 0.008 0.009\n" +
			"ra 16 61 62 63 64 65 66 67 68 69 70 71\nnet 81 82 83 84\nrpc 91 92 93 94 95\n" +
			procedures("proc2", 18, 401) + procedures("proc3", 22, 501) + procedures("proc4", 2, 601),
	},
	"2.6.32": {
		"proc/net/rpc/nfs": "net 1 2 3 4\nrpc 11 12 13\n" + procedures("proc2", 18, 101) + procedures("proc3", 22, 201) + procedures("proc4", 42, 301),
		"proc/net/rpc/nfsd": "rc 21 22 23\nfh 31 32 33 34 35\nio 41 42\n" +
			"th 8 51 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000\n" +
			"ra 32 61 62 63 64 65 66 67 68 69 70 71\nnet 81 82 83 84\nrpc 91 92 93 94 95\n" +
			procedures("proc2", 18, 401) + procedures("proc3", 22, 501) + procedures("proc4", 2, 601) + procedures("proc4ops", 59, 701),
		"proc/fs/nfsd/pool_threads": "8\n",
		"proc/fs/nfsd/pool_stats":   "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 1001 1002 1003 1004\n",
	},
	"6.8": {
		"proc/net/rpc/nfs": "net 1 2 3 4\nrpc 11 12 13\n" + procedures("proc3", 22, 201) + procedures("proc4", 69, 301),
		"proc/net/rpc/nfsd": "rc 21 22 4294967299\nfh 31 0 0 0 0\nio 41 1099511627818\n" +
			"th 24 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000\n" +
			"ra 0 0 0 0 0 0 0 0 0 0 0 0\nnet 81 82 83 84\nrpc 91 92 93 94 95\n" +
			procedures("proc3", 22, 501) + procedures("proc4", 2, 601) + procedures("proc4ops", 76, 701) + "wdeleg_getattr 9\n",
		"proc/fs/nfsd/pool_threads": "8 16\n",
		"proc/fs/nfsd/pool_stats": "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n" +
			"0 1001 1002 1003 1004\n1 9223372036854775807 2002 2003 0\n",
	},
	"a server that is off": {
		"proc/net/rpc/nfsd":         procedures("proc3", 22, 501),
		"proc/fs/nfsd/pool_threads": "0\n",
	},
	"calls that begin anew": {
		"proc/net/rpc/nfs": "proc3 22 4294967295" + strings.Repeat(" 4294967295", 21) + "\n",
	},
}

// TestNFSSameAsC compares all metrics with those of the C agent, and checks the number of NFS
// values.
func TestNFSSameAsC(t *testing.T) {
	for name, want := range map[string]int{"2.6.9": 151, "2.6.32": 224, "6.8": 212, "a server that is off": 29, "calls that begin anew": 23} {
		t.Run(name, func(t *testing.T) {
			root := nfsFiles[name].write(t)
			n := 0
			for _, values := range ourAgent(t, root).snapshotNFS().values {
				n += len(values)
			}
			if n != want {
				t.Errorf("there are %d values, want %d", n, want)
			}
			sameOnTree(t, root, misreadPools...)
		})
	}
}

// TestNFS compares the values of files that the C agent misreads, and of damaged ones.
func TestNFS(t *testing.T) {
	good := nfsFiles["2.6.32"]
	const first3 = ` 0 "null" 501 1 "getattr" `
	for _, tt := range []struct {
		name, line, by string
		want           string
	}{
		{"connections", "", "", "rpc.server.nettcpconn 84"},
		{"what nobody counts", "", "", "rpc.server.fh_cached\nrpc.server.fh_concurrent\nrpc.server.fh_fixup\nrpc.server.fh_valid"},
		{"no line", "rc 21 22 23\n", "", "rpc.server.rchits\nrpc.server.rpccnt 91"},
		{"no procedures", procedures("proc3", 22, 501), "", "nfs.server.calls 7371\nnfs3.server.calls\nnfs3.server.reqs"},
		{"short", "fh 31 32 33 34 35\n", "fh 31 32\n", "rpc.server.fh_anon\nrpc.server.fh_lookup 32\nrpc.server.fh_stale 31"},
		{"more numbers", "rc 21 22 23\n", "rc 21 22 23 24\n", "rpc.server.rcnocache 23"},
		{"blanks", "rc 21 22 23\n", "rc \t 21  22\t23 \n", "rpc.server.rchits 21\nrpc.server.rcnocache 23"},
		{"a word", "rpc 91 92 93 94 95\n", "rpc 91 x 93 -1 99999999999999999999\n",
			"rpc.server.rpcbadauth\nrpc.server.rpcbadclnt\nrpc.server.rpcbadfmt 93\nrpc.server.rpccnt 91\nrpc.server.rpcerr"},
		{"a counter of 64 bits", "rpc 91 ", "rpc 4294967297 ", "rpc.server.rpccnt 1"},
		{"too many threads", "th 8 51 ", "th 4294967296 4294967297 ", "rpc.server.th_cnt\nrpc.server.th_fullcnt 1"},
		{"a tenth of the cache", "ra 32 61 62 63 ", "ra 32 61 62 - ", "rpc.server.ra_hits\nrpc.server.ra_misses 71\nrpc.server.ra_size 32"},
		{"cut cache", "ra 32 61 62 63 64 65 66 67 68 69 70 71\n", "ra 32 61 62\n", "rpc.server.ra_hits\nrpc.server.ra_misses\nrpc.server.ra_size 32"},
		{"few procedures", procedures("proc3", 22, 501), "proc3 2 501 502\n", "nfs3.server.calls 1003\nnfs3.server.reqs" + first3 + "502"},
		{"no procedure", procedures("proc3", 22, 501), "proc3 0\n", "nfs3.server.calls 0\nnfs3.server.reqs"},
		{"fewer than it says", procedures("proc3", 22, 501), "proc3 3 501 502\n", "nfs3.server.calls\nnfs3.server.reqs"},
		{"more than it says", procedures("proc3", 22, 501), "proc3 1 501 502\n", "nfs3.server.calls\nnfs3.server.reqs"},
		{"no number of them", procedures("proc3", 22, 501), "proc3 x 501 502\n", "nfs3.server.calls\nnfs3.server.reqs"},
		{"nothing of them", procedures("proc3", 22, 501), "proc3\n", "nfs3.server.calls\nnfs3.server.reqs"},
		{"a procedure without number", procedures("proc3", 22, 501), "proc3 3 501 502 x\n", "nfs3.server.calls\nnfs3.server.reqs" + first3 + "502"},
		{"operations", procedures("proc4ops", 59, 701), "proc4ops 2 7 8\n", `nfs4.server.calls 15` + "\n" + `nfs4.server.reqs 1 "op0-unused" 7 2 "op1-unused" 8`},
		{"cut off", procedures("proc4ops", 59, 701), "proc4ops 2 7 8", "nfs4.server.calls\nnfs4.server.reqs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good["proc/net/rpc/nfsd"], tt.line) {
				t.Fatal("no such line:", tt.line)
			}
			tree := files{"proc/net/rpc/nfsd": strings.Replace(good["proc/net/rpc/nfsd"], tt.line, tt.by, 1)}
			if diff := cmp.Diff(tt.want+"\n", tree.valuesOf(t, metricsOf(tt.want)...)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// metricsOf returns the names of the metrics in a text.
func metricsOf(shown string) (names []string) {
	for line := range strings.SplitSeq(shown, "\n") {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, strings.TrimSuffix(name, ":"))
	}
	return names
}

// nfsRoots are the names above all metrics of NFS.
var nfsRoots = []string{"nfs", "nfs3", "nfs4", "rpc"}

// snapshotNFS takes a snapshot of all metrics of NFS.
func (s agentClient) snapshotNFS() snapshot {
	s.t.Helper()
	var names []string
	for _, root := range nfsRoots {
		some, err := s.Traverse(s.t.Context(), root)
		if err != nil {
			s.t.Fatal(err)
		}
		names = append(names, some...)
	}
	return s.snapshot(names)
}

// TestNoNFS checks that metrics of missing files have no values and no error.
func TestNoNFS(t *testing.T) {
	p := ourAgent(t, t.TempDir()).snapshotNFS()
	if len(p.values) != 53 || len(p.errors) != 0 {
		t.Errorf("%d metrics without an error, want 53:\n%v", len(p.values), p)
	}
	for name, values := range p.values {
		if len(values) != 0 {
			t.Errorf("%s has values", name)
		}
	}
}

// TestNFSInstances checks that the kinds of requests are instances even without requests.
func TestNFSInstances(t *testing.T) {
	root := files{}.write(t)
	our, their := ourAgent(t, root), cAgent(t, root)
	for _, name := range []string{"nfs.client.reqs", "nfs3.server.reqs", "nfs4.client.reqs", "nfs4.server.reqs"} {
		want, err1 := their.Instances(t.Context(), their.desc(name).InDom)
		got, err2 := our.Instances(t.Context(), our.desc(name).InDom)
		if diff := cmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil || len(got) < 18 {
			t.Errorf("%s %v %v (-want +got)\n%s", name, err1, err2, diff)
		}
	}
}

// TestNFSThreads compares the values of the files of the server's pools.
func TestNFSThreads(t *testing.T) {
	const titles = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n"
	for _, tt := range []struct{ name, threads, stats, want string }{
		{"good", "8\n", titles + "0 1 2 3 4\n", "2|1|3|1|4|8"},
		{"several", "8 9 0\n", titles + "0 1 2 3 4\n1 10 20 30 40\n2 0 0 0 0\n", "22|3|33|11|44|17"},
		{"more columns", "8\n", "# pool packets-arrived sockets-enqueued threads-woken overloads-avoided threads-timedout\n0 1 2 3 4 5\n", "2|1|3|1|5|8"},
		{"less columns", "8\n", "# pool packets-arrived threads-woken\n0 1 3\n", "|1|3|1||8"},
		{"no server", "0\n", "-", "0|0|0|0|0|0"},
		{"no statistics", "8\n", "-", "|||||8"},
		{"no threads", "-", titles + "0 1 2 3 4\n", "|||||"},
		{"no titles", "8\n", "0 1 2 3 4\n", "|||||8"},
		{"empty", "8\n", "", "|||||8"},
		{"no pool", "8\n", titles, "|||||8"},
		{"a word", "8\n", titles + "0 1 x 3 4\n1 10 20 30 40\n", "|2|33|11|44|8"},
		{"a pool without number", "8\n", titles + "x 1 2 3 4\n", "|||||8"},
		{"a short line", "8\n", titles + "0 1 2 3\n1 10 20 30 40\n", "|||||8"},
		{"a long line", "8\n", titles + "0 1 2 3 4 5\n", "|||||8"},
		{"cut off", "8\n", titles + "0 1 2 3 4\n1 10 20 30 4", "|||||8"},
		{"threads cut off", "8", titles + "0 1 2 3 4\n", "|||||"},
		{"threads empty", "\n", titles + "0 1 2 3 4\n", "|||||"},
		{"threads a word", "8 x\n", titles + "0 1 2 3 4\n", "|||||"},
		{"threads negative", "-1\n", titles + "0 1 2 3 4\n", "|||||"},
		{"too many threads", "4294967295 1\n", titles + "0 1 2 3 4\n", "|||||"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, want := files{}, ""
			if tt.threads != "-" {
				tree["proc/fs/nfsd/pool_threads"] = tt.threads
			}
			if tt.stats != "-" {
				tree["proc/fs/nfsd/pool_stats"] = tt.stats
			}
			names := []string{"enqueued", "pools", "processed", "requests", "timedout", "total"}
			for i, v := range strings.Split(tt.want, "|") {
				names[i] = "nfs.server.threads." + names[i]
				want += strings.TrimSpace(names[i]+" "+v) + "\n"
			}
			if diff := cmp.Diff(want, tree.valuesOf(t, names...)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestNFSServerEnds checks that an ended server has no earlier values.
func TestNFSServerEnds(t *testing.T) {
	root := nfsFiles["2.6.32"].write(t)
	our := ourAgent(t, root)
	names := []string{"nfs.server.threads.requests", "nfs.server.threads.total", "nfs3.server.calls"}
	want := "nfs.server.threads.requests 1001\nnfs.server.threads.total 8\nnfs3.server.calls 11253\n"
	if diff := cmp.Diff(want, our.snapshot(names).String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	write(t, root, "proc/fs/nfsd/pool_threads", "x\n")
	write(t, root, "proc/net/rpc/nfsd", "net 1 2 3 4\n")
	want = "nfs.server.threads.requests\nnfs.server.threads.total\nnfs3.server.calls\n"
	if diff := cmp.Diff(want, our.snapshot(names).String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestNFSAllocs checks that fetches allocate nothing except to open the files of the server's
// threads.
func TestNFSAllocs(t *testing.T) {
	for name, f := range nfsFiles {
		t.Run(name, func(t *testing.T) {
			allocatesNothing(t, f.write(t), "rpc", "nfs.client", "nfs.server.calls", "nfs.server.reqs", "nfs3", "nfs4")
		})
	}
	t.Run("none", func(t *testing.T) { allocatesNothing(t, t.TempDir(), nfsRoots...) })
}

func BenchmarkNFS(b *testing.B) {
	fetch := steadyFetch(b, nfsFiles["6.8"].write(b), nfsRoots...)
	b.ReportAllocs()
	for b.Loop() {
		fetch()
	}
}
