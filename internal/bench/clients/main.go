//go:build linux

// Clients loads a collector on this host with many clients. Each fetches one value from time to
// time:
//
//	clients -p PORT [-n CLIENTS] [-r FETCHES] [-s SECONDS] [-m DOMAIN.CLUSTER.ITEM] [-P PID]
//
// The clients have the addresses 127.0.0.2, 127.0.0.3 and so on, 20,000 each, and their fetches are
// spread over time. -r is the number of fetches of a client per second. The program prints the
// delay of replies after their fetches were due. With -P it also prints the server's CPU time per
// fetch and its memory per client.
//
// Both processes need a file descriptor for each client: see ulimit -n. With a lower limit, fewer
// clients that fetch more often are the same load.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/bench/process"
	"github.com/pcp-go/pcp/pdu"
)

const perAddress = 20000

// A client is idle, or has been waiting for a reply since one was due.
type client struct {
	fd   int
	next time.Time
	busy bool
}

type load struct {
	ep      int
	clients []client
	period  time.Duration
	request []byte
	took    []time.Duration
	late    int // fetches that were due while the one before was not replied to
}

func main() {
	port := flag.Int("p", 44321, "TCP port on the loopback interface")
	n := flag.Int("n", 50000, "clients")
	rate := flag.Float64("r", 1, "fetches of each in a second")
	secs := flag.Float64("s", 10, "seconds")
	metric := flag.String("m", "2.0.23", "metric")
	pid := flag.Int("P", 0, "process of the server")
	flag.Parse()
	id, err := pdu.ParsePMID(*metric)
	if err != nil {
		log.Fatal(err)
	}
	l := load{period: time.Duration(1e9 / *rate)}
	before := rss(*pid)
	if err := l.connect(*port, *n, id); err != nil {
		log.Fatal(err)
	}
	connected, cpu := rss(*pid), process.CPUOf(*pid)
	start := time.Now()
	if err := l.run(time.Duration(*secs * 1e9)); err != nil {
		log.Fatal(err)
	}
	elapsed := time.Since(start)
	l.print(elapsed, process.CPUOf(*pid)-cpu, connected-before, rss(*pid)-before)
}

// connect connects all clients and waits until each has received its first reply.
func (l *load) connect(port, n int, id pdu.PMID) (err error) {
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	var out strings.Builder
	c := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{nil, &out})
	if err := c.Write(1, &pdu.Fetch{PMIDs: []pdu.PMID{id}}); err != nil {
		return err
	}
	l.request = []byte(out.String())
	for i := range n {
		fd, err := introduce(port, 2+i/perAddress, l.request)
		if err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
		if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return err
		}
		l.clients = append(l.clients, client{fd: fd})
	}
	return nil
}

// introduce connects a client, up to its first reply.
func introduce(port, address int, request []byte) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(address)}}); err != nil {
		return 0, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	f := stream(fd)
	c := pdu.NewConn(f)
	if _, err := pdu.ClientHello(c, 1, 0); err != nil {
		return 0, err
	}
	if err := c.Write(1, pdu.SetProfile{}); err != nil {
		return 0, err
	}
	if _, err := f.Write(request); err != nil {
		return 0, err
	}
	h, _, err := c.Read()
	if err == nil && h.Kind != pdu.KindResult {
		err = fmt.Errorf("reply is %v", h.Kind)
	}
	return fd, err
}

// A stream is a blocking socket.
type stream int

func (s stream) Read(b []byte) (int, error) {
	n, err := unix.Read(int(s), b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (s stream) Write(b []byte) (int, error) { return unix.Write(int(s), b) }

func (l *load) run(lasts time.Duration) error {
	start := time.Now()
	for i := range l.clients {
		l.clients[i].next = start.Add(l.period * time.Duration(i) / time.Duration(len(l.clients)))
	}
	events := make([]unix.EpollEvent, 512)
	buf := make([]byte, 4096)
	cursor := 0
	for now := start; now.Sub(start) < lasts; now = time.Now() {
		for range l.clients { // they are due in the order of their index
			c := &l.clients[cursor]
			if c.next.After(now) {
				break
			}
			cursor = (cursor + 1) % len(l.clients)
			if c.busy {
				l.late++
				c.next = c.next.Add(l.period)
				continue
			}
			c.busy = true
			if _, err := unix.Write(c.fd, l.request); err != nil {
				return err
			}
		}
		n, err := unix.EpollWait(l.ep, events, 1)
		if err != nil && err != unix.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			c := &l.clients[e.Fd]
			if n, err := unix.Read(c.fd, buf); n <= 0 {
				return fmt.Errorf("client %d: read %d, %v", e.Fd, n, err)
			}
			l.took = append(l.took, time.Since(c.next))
			c.busy = false
			c.next = c.next.Add(l.period)
		}
	}
	return nil
}

func (l *load) print(elapsed, cpu time.Duration, connected, end int) {
	if len(l.took) == 0 {
		log.Fatal("no replies")
	}
	slices.Sort(l.took)
	n := len(l.took)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	fmt.Printf("bench=clients clients=%d rate=%.0f late=%d p50_ms=%.2f p99_ms=%.2f max_ms=%.2f srv_us=%.1f rss_up_kb=%.2f rss_end_kb=%.2f\n",
		len(l.clients), float64(n)/elapsed.Seconds(), l.late, ms(l.took[n/2]), ms(l.took[n*99/100]), ms(l.took[n-1]),
		float64(cpu)/1e3/float64(n), float64(connected)/float64(len(l.clients)), float64(end)/float64(len(l.clients)))
}

// rss is the resident memory of a process in KiB, 0 for none.
func rss(pid int) int {
	if pid == 0 {
		return 0
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	kb := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &kb); err == nil {
			break
		}
	}
	return kb
}
