package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A chaosRelay is a relay with TLS, users and a second agent, which has a socket; both agents are
// killed now and then.
type chaosRelay struct {
	*relay
	ca *tlstest.CA

	mu     sync.Mutex
	values map[string]int // that were right, by client
	absent int            // values that an agent that is not there did not give
}

// TestChaosHandover has processes take the place of the collector while clients of all kinds, ours
// and PCP's, fetch and connect, and agents are killed. No value is wrong, no client is lost, and
// nothing is left over. PCP_CHAOS makes it as long as that says, with a process every 5 s.
func TestChaosHandover(t *testing.T) {
	duration, every := 600*time.Millisecond, 300*time.Millisecond
	if s := os.Getenv("PCP_CHAOS"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal("PCP_CHAOS: ", err)
		}
		every = 5 * time.Second
	}
	r := newChaosRelay(t)
	ctx, cancel := context.WithCancel(t.Context())
	var using sync.WaitGroup
	defer using.Wait() // also when the collector has gone wrong: clients report to the test
	defer cancel()
	handedOver := 0
	var gone []int
	reconnects := map[string]int{}
	r.start(ctx, &using, reconnects)
	using.Go(func() { r.killAgents(ctx, every/3) })
	var most usage
	for end := time.Now().Add(duration); time.Now().Before(end); {
		time.Sleep(every) // the pace of the chaos; nothing depends on it
		before, after := r.handOver()
		handedOver++
		gone = append(gone, before)
		u := r.usage(after)
		if handedOver == 1 {
			most = usage{u.files + 32, u.threads + 32, max(2*u.memory, u.memory+32<<10)} // it has clients yet to come
		}
		if u.files > most.files || u.threads > most.threads || u.memory > most.memory {
			t.Errorf("after %d processes: %+v, at most %+v expected", handedOver, u, most)
		}
	}
	cancel()
	using.Wait()
	for _, pid := range gone {
		r.ended(pid)
	}
	for who, n := range reconnects {
		if n > handedOver {
			t.Errorf("%s: connected again %d times for %d processes", who, n, handedOver)
		}
	}
	for _, who := range slices.Sorted(maps.Keys(r.values)) {
		t.Logf("%s: %d values, connected again %d times", who, r.values[who], reconnects[who])
	}
	t.Logf("%d processes, %d values that agents did not give", handedOver, r.absent)
	r.end()
	wait(t, func() string { return processesOf(r.dir) })
}

// newChaosRelay starts the collector.
func newChaosRelay(t *testing.T) *chaosRelay {
	t.Helper()
	ca := tlstest.NewCA(t, "ca")
	dir := t.TempDir()
	db, err := os.ReadFile("../../pdu/sasl/testdata/sasldb")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "passwd.db")
	if err := errors.Join(os.WriteFile(path, db, 0o600), os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte("sasldb_path: "+path+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := append(tlsFile(t, "%stls-ca-cert-file = %s\n", pair("tls-", ca.Issue(t, "server", tlstest.Leaf{})), ca.CertFile), "PCP_SASL2_CONFIG_PATH="+dir)
	agent, port := pcptest.Build(t, "./examples/simple"), pcptest.FreePort(t)
	r := &chaosRelay{ca: ca, values: map[string]int{}, relay: startRelay(t, env, func(r *relay) {
		r.write("conf", fmt.Sprintf("simple 253 pipe binary %[1]s -d 253 -l %[2]s/simple.log\nother 252 socket inet %[3]d %[1]s -d 252 -l %[2]s/other.log -i %[3]d\n",
			agent, r.dir, port))
		r.write("names", "root {\n simple\n other\n}\nsimple {\n color 253:0:1\n}\nother {\n color 252:0:1\n}\n")
	})}
	return r
}

// start starts the clients. Counts of how often they connect again are there when all have ended.
func (r *chaosRelay) start(ctx context.Context, using *sync.WaitGroup, reconnects map[string]int) {
	const login = "?user=root@test&pass=secret"
	hosts := []string{r.tcp, "unix://" + r.socket, "unix://" + r.socket + login, "pcps://" + r.tcp, "pcps://" + r.tcp + login}
	tools := pcptest.Has(r.t, "pminfo")
	for _, host := range hosts {
		for _, pause := range []time.Duration{5 * time.Millisecond, 700 * time.Millisecond} {
			who := fmt.Sprintf("our client of %s every %v", host, pause)
			using.Go(func() {
				n, err := r.use(ctx, who, host, pause)
				if err != nil {
					r.t.Errorf("%s: %v", who, err)
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				reconnects[who] = n
			})
		}
		using.Go(func() {
			who := "our short clients of " + host
			for ctx.Err() == nil {
				if n, err := r.use(once(), who, host, 0); n > 0 || err != nil {
					r.t.Errorf("%s: %d, %v", who, n, err)
					return
				}
			}
		})
		if tools {
			using.Go(func() { r.usePMInfo(ctx, host) })
		}
	}
}

// use fetches until ctx ends, but once at least, and counts how often the client had to connect
// again.
func (r *chaosRelay) use(ctx context.Context, who, host string, pause time.Duration) (reconnects int, err error) {
	d := &pmapi.Dialer{Backoff: []time.Duration{time.Nanosecond}, TLS: &tls.Config{RootCAs: r.ca.Pool()}}
	c, err := d.Dial(context.Background(), host)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ids := []pdu.PMID{pdu.MakePMID(253, 0, 1), pdu.MakePMID(252, 0, 1), pdu.MakePMID(2, 0, 21)}
	var res pdu.Result
	for {
		switch err := c.Fetch(context.Background(), ids, &res); {
		case errors.Is(err, pdu.ErrIPC):
			reconnects++
			if err := c.Reconnect(context.Background()); err != nil {
				return reconnects, fmt.Errorf("after %d: %w", reconnects, err)
			}
			continue // at once: the next fetch has to succeed
		case err != nil:
			return reconnects, err
		default:
			if err := r.check(who, &res); err != nil {
				return reconnects, err
			}
		}
		select {
		case <-ctx.Done():
			return reconnects, nil
		case <-time.After(pause):
		}
	}
}

// absentErrors are those of an agent that died before or during a request.
var absentErrors = []pdu.Error{pdu.ErrNoAgent, pdu.ErrAgain, pdu.ErrIPC, pdu.FromError(syscall.EPIPE), pdu.FromError(syscall.ECONNRESET)}

// check checks the values of both agents and of the collector. An agent may be absent, the
// collector may not.
func (r *chaosRelay) check(who string, res *pdu.Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range 2 {
		switch s := res.At(i); {
		case s.Err() == nil:
			if err := checkSteps(s); err != nil {
				return err
			}
			r.values[who]++
		case slices.Contains(absentErrors, pdu.FromError(s.Err())):
			r.absent++
		default:
			return fmt.Errorf("agent %d: %w", i, s.Err())
		}
	}
	r.values[who]++
	return checkHost(res.At(2))
}

// usePMInfo runs PCP's pminfo until ctx ends.
func (r *chaosRelay) usePMInfo(ctx context.Context, host string) {
	who := "pminfo -h " + host
	env := append(tlsFile(r.t, "tls-ca-cert-file = %s\ntls-verify-clients = yes\n", r.ca.CertFile), "PCP_CONSOLE=none")
	for ctx.Err() == nil {
		out, errs, status := pcptest.Run(r.t, env, "", "pminfo", "-h", host, "-f", "simple.color", "other.color", "pmcd.hostname")
		right, absent, wrong := checkPMInfo(out)
		if status != 0 || wrong != "" {
			r.t.Errorf("%s: %d, %s\n%s%s", who, status, wrong, out, errs)
			return
		}
		r.mu.Lock()
		r.values[who] += right
		r.absent += absent
		r.mu.Unlock()
	}
}

// pminfoColor matches a value in the output of pminfo. The instance has no name if the agent died
// before the request for the name.
var pminfoColor = regexp.MustCompile(`(?m)^    inst \[\d( or "\w+")?\] value (\d+)$`)

// checkPMInfo counts the metrics of the agents and the collector with values, and those without.
func checkPMInfo(out string) (right, absent int, wrong string) {
	at := []int{strings.Index(out, "simple.color"), strings.Index(out, "other.color"), strings.Index(out, "pmcd.hostname\n    value \"thehost\"\n"), len(out)}
	if !slices.IsSorted(at) || at[0] < 0 {
		return 0, 0, "a metric is missing"
	}
	for i := range 2 {
		text := out[at[i]:at[i+1]]
		m := pminfoColor.FindAllStringSubmatch(text, -1)
		if len(m) == 0 && slices.ContainsFunc(absentErrors, func(e pdu.Error) bool { return strings.Contains(text, e.Error()) }) {
			absent++
			continue
		}
		if len(m) != 3 {
			return 0, 0, fmt.Sprintf("%d values", len(m))
		}
		first, _ := strconv.Atoi(m[0][2])
		for j := range m {
			if m[j][2] != strconv.Itoa((first+j*100)%256) {
				return 0, 0, "wrong values"
			}
		}
		right++
	}
	return right + 1, absent, ""
}

// killAgents ends an agent of the collector now and then.
func (r *chaosRelay) killAgents(ctx context.Context, every time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rand.Int64N(int64(2 * every)))):
		}
		list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, file := range list {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), "\x00-l\x00"+r.dir+"/") {
				syscall.Kill(pid, syscall.SIGKILL) // it may have gone
				break
			}
		}
	}
}

// processesOf tells of the processes that have a directory in their command line.
func processesOf(dir string) (all string) {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), dir+"/") {
			all += strings.ReplaceAll(string(b), "\x00", " ") + "is left\n"
		}
	}
	return all
}

// A usage is what a process has of the system.
type usage struct {
	files, threads int
	memory         int // in KiB
}

func (r *relay) usage(pid int) (u usage) {
	r.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		fmt.Sscanf(line, "Threads: %d", &u.threads)
		fmt.Sscanf(line, "VmRSS: %d kB", &u.memory)
	}
	u.files = r.descriptors(pid)
	return u
}
