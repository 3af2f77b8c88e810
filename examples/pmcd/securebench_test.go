//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// BenchmarkInteropSecure is what clients with TLS get of C's pmcd and of ours, in turns: how many
// handshakes and fetches a second, and the ratio of ours to C's.
func BenchmarkInteropSecure(b *testing.B) {
	pcptest.Need(b, "pmcd")
	ca := tlstest.NewCA(b, "ca")
	for _, rsa := range []bool{false, true} {
		env := tlsFile(b, "%s", pair("tls-", ca.Issue(b, "server", tlstest.Leaf{RSA: rsa})))
		c := pcptest.StartPMCD(b, pcptest.Config{Shipped: []string{"pmcd", "sample"}, Env: env}).Host()
		set := pcptest.Agents(b, "sample")
		host := fmt.Sprintf("localhost:%d", pcptest.FreePort(b))
		dir := b.TempDir()
		conf, names := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "pmns")
		for path, text := range map[string]string{conf: set.Conf, names: set.PMNS} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		_, port, _ := net.SplitHostPort(host)
		pcptest.Start(b, pcptest.Daemon{Path: pcptest.Build(b, "./examples/pmcd"), Addr: host, Greets: true, Env: append(env, set.Env...),
			Args: []string{"-f", "-l", "-", "-i", "127.0.0.1", "-p", port, "-s", pcptest.ShortDir(b) + "/s", "-c", conf, "-n", names}})
		// As OpenSSL's clients, which have no other curve first.
		d := &pmapi.Dialer{TLS: &tls.Config{RootCAs: ca.Pool(), CurvePreferences: []tls.CurveID{tls.X25519}}}
		for _, clients := range []int{1, 8} {
			for _, what := range []string{"handshake", "fetch"} {
				b.Run(fmt.Sprintf("%s/rsa=%v/clients=%d", what, rsa, clients), func(b *testing.B) {
					secureTurns(b, d, what == "fetch", clients, c, host)
				})
			}
		}
	}
}

// secureTurns has clients ask two collectors in turns.
func secureTurns(b *testing.B, d *pmapi.Dialer, fetch bool, clients int, hosts ...string) {
	const turn = 100 * time.Millisecond
	var took [2]time.Duration
	var done [2]int
	var open [2][]*pmapi.Context
	var ids []pdu.PMID
	if fetch {
		for i, host := range hosts {
			for range clients {
				c := mustDial(b, d, host)
				defer c.Close()
				var err error
				if ids, err = c.Lookup(b.Context(), []string{"sample.long.one"}); err != nil {
					b.Fatal(err)
				}
				open[i] = append(open[i], c)
			}
		}
	}
	for i := 0; b.Loop(); i++ {
		k := i % 2
		began := time.Now()
		var mu sync.Mutex
		var all sync.WaitGroup
		for n := range clients {
			all.Go(func() {
				count := 0
				var r pdu.Result
				for time.Since(began) < turn {
					if fetch {
						if err := open[k][n].Fetch(context.Background(), ids, &r); err != nil {
							b.Error(err)
							return
						}
					} else {
						mustDial(b, d, hosts[k]).Close()
					}
					count++
				}
				mu.Lock()
				done[k] += count
				mu.Unlock()
			})
		}
		all.Wait()
		took[k] += time.Since(began)
	}
	rate := func(k int) float64 { return float64(done[k]) / max(took[k].Seconds(), 1e-9) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate(0), "C/s")
	b.ReportMetric(rate(1), "Go/s")
	b.ReportMetric(rate(1)/rate(0), "ratio")
}

func mustDial(b *testing.B, d *pmapi.Dialer, host string) *pmapi.Context {
	c, err := d.Dial(context.Background(), "pcps://"+host)
	if err != nil {
		b.Error(err)
		panic(err)
	}
	return c
}
