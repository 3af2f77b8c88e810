package webapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A derived metric with a pattern that compiles to a large program is refused cheaply.
func TestDerivedLargePattern(t *testing.T) {
	s := newGateway(t)
	id := s.open(t, "polltimeout=60")
	size := pcptest.AttackSize(3<<10, 60<<10)
	large := "x.y=matchinst(/" + strings.Repeat("a{1000}b{1000}", size/14) + "/,t.colour)"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var r reply
	pcptest.Attack(t, func() { r = s.do(t, http.MethodPost, "/pmapi/"+id+"/derive", large) }, nil)
	runtime.ReadMemStats(&after)
	if r.status != http.StatusBadRequest || !strings.Contains(r.body, "Regular expression too big") {
		t.Errorf("%d %.300s", r.status, r.body)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("a request of %d bytes took %d bytes of memory", len(large), n)
	}
}

// The memory of a client's derived metrics is limited. Contexts that end free their share.
func TestDerivedMemory(t *testing.T) {
	s := newGateway(t)
	pattern := "matchinst(/(a?){1000}/,t.colour)" // half a megabyte
	refused := 0
	const timeout = 2 * time.Second // more than a busy machine takes for one expression
	for n := range 2 {
		id := s.open(t, fmt.Sprintf("polltimeout=%v", timeout.Seconds()))
		for i := range 40 {
			r := s.get(t, fmt.Sprintf("/pmapi/%s/derive?name=x.m%d&expr=%s", id, i, url.QueryEscape(pattern)))
			if r.status == http.StatusTooManyRequests && strings.Contains(r.body, "too many derived metrics of this client") {
				refused++
				break
			}
			if r.status != http.StatusOK {
				t.Fatalf("%d %.300s", r.status, r.body)
			}
		}
		if n == 0 { // an expired context gives its share back
			time.Sleep(timeout + 200*time.Millisecond)
			if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.max"); r.status != http.StatusBadRequest {
				t.Errorf("not expired: %d %.300s", r.status, r.body)
			}
		}
	}
	if refused != 2 {
		t.Errorf("%d of 2 contexts reached the limit", refused)
	}
}

// A derived metric that takes too long ends at the time limit of the request.
func TestSlowDerived(t *testing.T) {
	src := newSource()
	names := make([]string, 3000)
	for i := range names {
		names[i] = strings.Repeat("a", 200) + fmt.Sprint(i)
	}
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "t.many", InDom: src.InDom(names...)}).Set(make([]int32, len(names))...)
	s := serve(t, webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context)}, webapi.Limits{RequestTimeout: 200 * time.Millisecond}))
	id := s.open(t, "polltimeout=60")
	expr := "matchinst(/(a?){1000}x/,t.many)"
	if r := s.get(t, "/pmapi/"+id+"/derive?name=x.y&expr="+url.QueryEscape(expr)); r.status != http.StatusOK {
		t.Fatalf("%d %.300s", r.status, r.body)
	}
	begin := time.Now()
	r := s.get(t, "/pmapi/"+id+"/fetch?names=x.y")
	if r.status != http.StatusBadRequest || !strings.Contains(r.body, "Timeout") {
		t.Errorf("%d %.200s", r.status, r.body)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}
