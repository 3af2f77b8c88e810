package pmdalinux

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestReusedProcess checks that values of a process that reused the ID of an ended one are not
// taken for the container's.
func TestReusedProcess(t *testing.T) {
	l := newLinux(Options{Root: "/"})
	v, err := l.viewOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.check(); err != nil {
		t.Error(err)
	}
	before := v
	before.start--
	if err := before.check(); !errors.Is(err, syscall.EPERM) {
		t.Errorf("of a process that was started at another time: %v", err)
	}
	h := &containers{Handler: l.Agent, l: l, find: func(context.Context, string) (int, error) { return v.pid, nil }, known: map[containerView]*container{}}
	l.add()
	c := h.of(v)
	client := pmda.NewClient(1, 1)
	client.Container = "web"
	r := &pmda.Request{Client: client}
	fetch := func() error {
		return h.Fetch(t.Context(), r, []pdu.PMID{pdu.MakePMID(Domain, 12, 4)}, new(pdu.ResultWriter))
	}
	fetch() // the test may lack the rights to enter its own namespaces
	c.view.start--
	if err := fetch(); !errors.Is(err, syscall.EPERM) {
		t.Errorf("values of another process: %v", err)
	}
	if _, err := h.Instances(t.Context(), r, l.domains[pmda.InDomSerial(3)].ID(), pdu.NoInst, ""); !errors.Is(err, syscall.EPERM) {
		t.Errorf("instances of another process: %v", err)
	}
}
