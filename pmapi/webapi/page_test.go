package webapi_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

var (
	all        = flag.Bool("all", false, "test the page in a browser, which takes seconds")
	pictures   = flag.String("pictures", "", "write pictures of the page into this `directory`")
	picturesOf = flag.String("pictures-of", "", "take the page with this `URL` in place of that of a made up host")
)

// maxPage limits the size of all files of the page.
const maxPage = 150 << 10

// The page is served below any path, and loads nothing from other servers.
func TestPageFiles(t *testing.T) {
	src := newSource()
	g := &webapi.Gateway{Local: sourceOf(src.Context)}
	defer g.Close()
	mux := http.NewServeMux()
	mux.Handle("/pcp/", http.StripPrefix("/pcp", g))
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	if w := get("/pcp/"); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; ") ||
		w.Header().Get("Content-Type") != "text/html; charset=utf-8" || regexp.MustCompile(`<script>|\son\w+=|style=|(src|href)="/`).MatchString(w.Body.String()) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	dir, err := os.OpenRoot("page")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	size := 0
	err = fs.WalkDir(dir.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		w := get("/pcp/page/" + path)
		size += w.Body.Len()
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") == "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if text := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", ""); regexp.MustCompile(`https?://|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(`).MatchString(text) {
			t.Errorf("%s has something from elsewhere, or inserts HTML", path)
		}
		return nil
	})
	if err != nil || size == 0 || size > maxPage {
		t.Errorf("%d bytes in all: %v", size, err)
	}
	for _, path := range []string{"/pcp/page/", "/pcp/page/nosuch.js", "/pcp/page/x/y", "/pcp/index.html"} {
		if w := get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// hostile is a text that would run a script if it were HTML.
const hostile = `<img src=x onerror="document.title='bad'"><script>document.title='bad'</script>`

// vitalSource returns a host whose vital signs have known values.
func vitalSource() (s *pmapitest.Source, nets *pmapitest.InDom) {
	s = &pmapitest.Source{Host: "web1.example.com", Labels: `{"hostname":"web1.example.com"}`}
	// counter adds a counter of perSecond units a second, times the instance number plus one.
	counter := func(name string, units pdu.Units, perSecond float64, d *pmapitest.InDom) {
		pmapitest.Add(s, pmapitest.Metric[uint64]{Name: name, Sem: pdu.SemCounter, Units: units, InDom: d, Text: "Text of " + name, Help: "Help of " + name,
			Value: func(now time.Time, i pdu.Instance) (uint64, error) {
				return uint64(float64(now.UnixMilli()-1_000_000_000_000) / 1000 * perSecond * float64(max(i.ID, 0)+1)), nil
			}})
	}
	gauge := func(name string, units pdu.Units, v float64, d *pmapitest.InDom) {
		pmapitest.Add(s, pmapitest.Metric[float64]{Name: name, Units: units, InDom: d, Text: "Text of " + name,
			Value: func(_ time.Time, i pdu.Instance) (float64, error) { return v * float64(max(i.ID, 0)+1), nil }})
	}
	for name, share := range map[string]float64{"user": 0.4, "nice": 0, "sys": 0.2, "irq.hard": 0, "irq.soft": 0, "wait.total": 0.2, "steal": 0, "idle": 3.2} {
		counter("kernel.all.cpu."+name, pdu.TimeUSec, share*1e6, nil)
	}
	gauge("hinv.ncpu", 0, 4, nil)
	gauge("mem.physmem", pdu.SpaceMByte, 16384, nil)
	gauge("mem.util.available", pdu.SpaceMByte, 12288, nil)
	gauge("mem.util.free", pdu.SpaceMByte, 4096, nil)
	gauge("kernel.all.load", 0, 0.5, s.InDom("1 minute", "5 minute", "15 minute"))
	counter("disk.all.read_bytes", pdu.SpaceByte, 3<<20, nil)
	counter("disk.all.write_bytes", pdu.SpaceByte, 1<<20, nil)
	nets = s.InDom("eth0", "lo", "eth1")
	counter("network.interface.in.bytes", pdu.SpaceByte, 1<<10, nets)
	counter("network.interface.out.bytes", pdu.SpaceByte, 2<<10, nets)
	processes := s.InDom("000001 /sbin/init", "000042 "+hostile, "000777 /usr/bin/worker")
	counter("proc.psinfo.utime", pdu.TimeMSec, 50, processes)
	counter("proc.psinfo.stime", pdu.TimeMSec, 10, processes)
	gauge("proc.psinfo.rss", pdu.SpaceKByte, 2048, processes)
	gauge("t.hostile", 0, 7, s.InDom(hostile, "quiet"))
	pmapitest.Add(s, pmapitest.Metric[string]{Name: "t.words", Text: hostile, Help: hostile, Labels: `{"evil":"<b onclick=x>"}`}).Set(hostile)
	return s, nets
}

// pageServer serves a gateway and can restart it at the same address.
type pageServer struct {
	g    *webapi.Gateway
	srv  *http.Server
	addr string
}

func (s *pageServer) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/pcp/", http.StripPrefix("/pcp", s.g))
	s.srv = &http.Server{Handler: mux}
	go s.srv.Serve(l)
}

// busy opens an archive.
func busy(ctx context.Context) (*pmapi.Context, error) {
	return pmapi.Open(ctx, "../../examples/internal/pmstat/testdata/archive/host")
}

// sparse writes an archive of ten minutes. Processes are recorded each minute, but not in the last.
func sparse(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sparse")
	im, err := logimport.New(path, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d := pdu.MakeInDom(3, 9)
	for name, desc := range map[string]pdu.Desc{
		"kernel.all.load":   {Type: pdu.TypeFloat, InDom: pdu.MakeInDom(60, 2), Sem: pdu.SemInstant},
		"proc.psinfo.utime": {Type: pdu.TypeU64, InDom: d, Sem: pdu.SemCounter, Units: pdu.TimeMSec}, "proc.psinfo.stime": {Type: pdu.TypeU64, InDom: d, Sem: pdu.SemCounter, Units: pdu.TimeMSec},
		"proc.psinfo.rss": {Type: pdu.TypeU64, InDom: d, Sem: pdu.SemInstant, Units: pdu.SpaceKByte},
	} {
		_, err := im.AddMetric(name, desc)
		try(err)
	}
	try(im.AddInstance(d, "000007 worker", 7))
	try(im.AddInstance(pdu.MakeInDom(60, 2), "1 minute", 1))
	for second := 0; second < 600; second += 10 {
		try(im.PutText("kernel.all.load", "1 minute", "0.5"))
		if second%60 == 0 {
			try(im.PutText("proc.psinfo.utime", "000007 worker", fmt.Sprint(second*200)))
			try(im.PutText("proc.psinfo.stime", "000007 worker", fmt.Sprint(second*50)))
			try(im.PutText("proc.psinfo.rss", "000007 worker", "4096"))
		}
		try(im.Write(time.Unix(1_790_000_000+int64(second), 0)))
	}
	try(im.Close())
	return path
}

// testPageSparse checks that the table of processes has the last recorded values, and that the
// duration is in words.
func testPageSparse(t *testing.T, b *browser, s *pageServer) {
	p := b.open(t, "http://"+s.addr+"/pcp/#source=sparse", 1280, 900)
	p.wait(t, textOf(`[data-panel="processes"] tbody tr`)+` === "7 worker25 %4 MiB" || `+textOf(`[data-panel="processes"] tbody tr`)+` === "7 worker25.0 %4 MiB"`)
	p.wait(t, textOf("#window option:checked")+` === "10 minutes"`)
}

// near returns an expression that is true if a series in a card has about the given value.
func near(panel, series string, value float64) string {
	return fmt.Sprintf(`(() => { const e = [...document.querySelectorAll('[data-panel="%s"] [data-series]')].find(e => e.dataset.series === %q);
		return e !== undefined && e.dataset.value !== '' && Math.abs(Number(e.dataset.value) - %g) <= %g; })()`, panel, series, value, max(value/50, 1e-9))
}

// textOf returns an expression for the text of an element.
func textOf(selector string) string {
	return fmt.Sprintf("document.querySelector(%q).textContent", selector)
}

// TestInteropPage tests the page in a browser.
func TestInteropPage(t *testing.T) {
	if !*all && *pictures == "" && !pcptest.Required() {
		t.Skip("it takes seconds: -all or PCP_INTEROP=require runs it")
	}
	b := startBrowser(t)
	src, nets := vitalSource()
	path := sparse(t)
	s := &pageServer{addr: "127.0.0.1:0", g: webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context),
		Sources: map[string]func(context.Context) (*pmapi.Context, error){
			"busy": busy, "sparse": func(ctx context.Context) (*pmapi.Context, error) { return pmapi.Open(ctx, path) }}}, webapi.Limits{LiveInterval: 100 * time.Millisecond})}
	s.start(t)
	defer func() {
		s.srv.Close()
		s.g.Close()
	}()
	address := "http://" + s.addr + "/pcp/#interval=0.1"
	p := b.open(t, address, 1280, 900)
	t.Run("Values", func(t *testing.T) { testPageValues(t, p) })
	t.Run("Search", func(t *testing.T) { testPageSearch(t, p) })
	t.Run("Keys", func(t *testing.T) { testPageKeys(t, p) })
	t.Run("Link", func(t *testing.T) {
		other := b.open(t, p.eval(t, "location.href").(string), 390, 844)
		other.wait(t, textOf("#host")+` === "web1.example.com"`)
		other.wait(t, near("network.interface.in.bytes", "eth1", 3<<10)+` && document.querySelectorAll('[data-panel="network.interface.in.bytes"] [data-series]').length === 1`)
		other.wait(t, "document.documentElement.scrollWidth <= innerWidth") // it fits a phone
		other.picture(t, *pictures, "phone")
	})
	p.front(t)
	t.Run("Interfaces", func(t *testing.T) {
		nets.SetInstances(pdu.Instance{ID: 0, Name: "eth0"}) // as when a container ends
		p.wait(t, near("network", "received", 1<<10)+" && "+near("network", "sent", 2<<10))
		nets.SetInstances(pdu.Instance{ID: 0, Name: "eth0"}, pdu.Instance{ID: 9, Name: "veth9"})
		p.wait(t, near("network", "received", 11<<10)+" && "+near("network", "sent", 22<<10))
	})
	t.Run("Axis", func(t *testing.T) { testPageAxis(t, p) })
	if faults := b.takeFaults(""); len(faults) > 0 {
		t.Errorf("the console: %s", faults)
	}
	t.Run("Reconnect", func(t *testing.T) { testPageReconnect(t, p, src, s) })
	b.takeFaults("")
	t.Run("Archive", func(t *testing.T) { testPageArchive(t, b, s) })
	t.Run("Sparse", func(t *testing.T) { testPageSparse(t, b, s) })
	if faults := b.takeFaults("Failed to load resource"); len(faults) > 0 {
		t.Errorf("the console: %s", faults)
	}
}

func testPageValues(t *testing.T, p *tab) {
	p.wait(t, textOf("#host")+` === "web1.example.com"`)
	p.wait(t, near("cpu", "user", 10)+" && "+near("cpu", "system", 5)+" && "+near("cpu", "I/O wait", 5))
	p.wait(t, near("memory", "used", 4<<30)+" && "+near("memory", "cache", 8<<30))
	p.wait(t, near("load", "1 minute", 0.5)+" && "+near("load", "15 minute", 1.5))
	p.wait(t, near("disk", "read", 3<<20)+" && "+near("disk", "written", 1<<20))
	p.wait(t, near("network", "received", 4<<10)+" && "+near("network", "sent", 8<<10)) // without lo
	p.wait(t, textOf(`[data-panel="disk"] .big`)+` === "4.00 MiB/s" || `+textOf(`[data-panel="disk"] .big`)+` === "4 MiB/s" || /^(3.9|4.0)\d MiB.s$/.test(`+textOf(`[data-panel="disk"] .big`)+")")
	// The process with the most CPU time comes first: 3 × 60 ms a second. A name is shown as text,
	// even if it contains HTML.
	p.wait(t, `/777 .usr.bin.worker1[78]\.?\d* %6 MiB/.test(`+textOf(`[data-panel="processes"] tbody tr`)+")")
	p.wait(t, textOf(`[data-panel="processes"] tbody tr:nth-child(2) td`)+" === "+fmt.Sprintf("%q", "42 "+hostile))
	p.wait(t, `document.body.dataset.state === "live"`)
	// Charts move as time passes, and draw something.
	when := p.eval(t, "document.getElementById('position').value")
	p.wait(t, fmt.Sprintf("Number(document.getElementById('position').value) > Number(%q)", when))
	p.wait(t, `(() => { const c = document.querySelector('[data-panel="cpu"] canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v !== 0); })()`)
	p.picture(t, *pictures, "synthetic")
}

func testPageSearch(t *testing.T, p *tab) {
	p.keys(t, "/", "interface in.bytes")
	p.wait(t, `document.querySelectorAll("#found li").length === 1 && `+textOf("#found li b")+` === "network.interface.in.bytes"`)
	p.wait(t, textOf("#found li")+`.includes("Help of network.interface.in.bytes") && document.getElementById("search").getAttribute("aria-activedescendant") === "found0"`)
	p.keys(t, "Enter")
	p.wait(t, near("network.interface.in.bytes", "lo", 2<<10)+" && "+near("network.interface.in.bytes", "eth1", 3<<10))
	// Filter for one instance.
	p.eval(t, `document.querySelector('[data-panel="network.interface.in.bytes"] .filter').focus()`)
	p.keys(t, "ETH1")
	p.wait(t, `document.querySelectorAll('[data-panel="network.interface.in.bytes"] [data-series]').length === 1 && `+near("network.interface.in.bytes", "eth1", 3<<10))
	// HTML in a text is shown as text: in the list, in a card, in the help.
	p.eval(t, "document.activeElement.blur()")
	p.keys(t, "/", "words evil")
	p.wait(t, `document.querySelectorAll("#found li").length === 1`)
	p.keys(t, "Enter", "/", "t.hostile")
	p.wait(t, textOf("#found li b")+` === "t.hostile"`)
	p.keys(t, "Enter")
	p.wait(t, near("t.hostile", hostile, 7))
	p.eval(t, `document.querySelector('[data-panel="t.words"] details').open = true`)
	p.wait(t, textOf(`[data-panel="t.words"] details`)+`.includes("evil: <b onclick=x>")`)
	p.wait(t, textOf(`[data-panel="t.words"] [data-series] b`)+" === "+fmt.Sprintf("%q", hostile))
	p.wait(t, `(() => { const e = document.querySelector('[data-panel="t.words"] [data-series] b'); return e.scrollWidth <= e.clientWidth; })()`) // not truncated
	if n := p.eval(t, `document.querySelectorAll("img, script:not([src])").length`); n != 0.0 || p.eval(t, "document.title") != "web1.example.com – metrics" {
		t.Errorf("%v elements of texts; the title: %v", n, p.eval(t, "document.title"))
	}
	p.eval(t, `document.querySelector('[data-panel="t.hostile"] .close').click()`)
	p.wait(t, `!document.querySelector('[data-panel="t.hostile"]') && !location.hash.includes("hostile")`)
	p.eval(t, "document.activeElement.blur()")
}

// testPageAxis checks the grid lines of charts with a fixed top: those of memory are at round
// sizes.
func testPageAxis(t *testing.T, p *tab) {
	for gib, want := range map[float64]float64{32: 8, 23.5: 8, 7.6: 2, 1: 0.25, 503: 128} {
		got := p.eval(t, fmt.Sprintf(`import(new URL("page/chart.js", location.href)).then(m => m.range([], {fixed: true, top: %g * 2 ** 30, unit: {kind: "bytes", suffix: ""}}).distance / 2 ** 30)`, gib))
		if got != want {
			t.Errorf("%v GiB of memory have lines every %v GiB, not %v", gib, got, want)
		}
	}
}

func testPageKeys(t *testing.T, p *tab) {
	p.keys(t, " ")
	p.wait(t, `document.body.dataset.state === "paused" && `+textOf("#pause")+` === "Go live" && location.hash.includes("at=")`)
	at := p.eval(t, "document.getElementById('position').value")
	p.keys(t, "+")
	p.wait(t, `document.getElementById("window").value === "60"`)
	p.wait(t, fmt.Sprintf("Number(document.getElementById('position').max) > Number(%q) + 1", at)) // it continues
	if now := p.eval(t, "document.getElementById('position').value"); now != at {
		t.Errorf("paused at %v, and shown is %v", at, now)
	}
	p.keys(t, "?")
	p.wait(t, `document.getElementById("shortcuts").open`)
	p.keys(t, "Escape")
	p.wait(t, `!document.getElementById("shortcuts").open`)
	theme := p.eval(t, "document.documentElement.dataset.theme")
	p.keys(t, "t")
	p.wait(t, fmt.Sprintf("document.documentElement.dataset.theme !== %q", theme))
	p.picture(t, *pictures, "synthetic-dark")
	p.keys(t, "t", "-", "End")
	p.wait(t, `document.body.dataset.state === "live" && document.getElementById("window").value === "300"`)
	if names := p.eval(t, `[...document.querySelectorAll("button, input, select, canvas")].filter(e => !(e.getAttribute("aria-label") || e.textContent.trim())).length`); names != 0.0 {
		t.Errorf("%v controls without a name", names)
	}
}

func testPageReconnect(t *testing.T, p *tab, src *pmapitest.Source, s *pageServer) {
	src.Break(pdu.ErrIPC)
	p.wait(t, `document.body.dataset.state === "lost" && `+textOf("#notice")+`.startsWith("The collector does not answer")`)
	src.Restore()
	p.wait(t, `document.body.dataset.state === "live" && document.getElementById("notice").hidden`)
	s.srv.Close()
	p.wait(t, textOf("#notice")+` === "The connection to the server is lost. Trying again."`)
	s.start(t)
	p.wait(t, `document.body.dataset.state === "live" && `+near("disk", "read", 3<<20))
}

func testPageArchive(t *testing.T, b *browser, s *pageServer) {
	c, err := busy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	label, err := c.ArchiveLabel()
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.ArchiveEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// load reads the archive at a time.
	load := func(at time.Time) float64 {
		g := c.Group()
		v := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
		if err := c.SetMode(t.Context(), pmapi.ModeInterp, at, time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		x, err := v.Value()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	p := b.open(t, "http://"+s.addr+"/pcp/#source=busy&chart=kernel.all.load", 1280, 900)
	p.wait(t, `document.body.dataset.state === "archive" && document.getElementById("pause").hidden`)
	p.wait(t, `document.querySelector('[data-panel="kernel.all.load"] [data-series]') !== null`)
	p.picture(t, *pictures, "archive")
	// Move the slider as a user does.
	for _, part := range []time.Duration{2, 4} {
		at := label.Start.Add(end.Sub(label.Start) / part)
		p.eval(t, fmt.Sprintf(`(() => { const e = document.getElementById("position"); e.value = %d.%09d; e.dispatchEvent(new Event("input")); })()`, at.Unix(), at.Nanosecond()))
		p.wait(t, near("kernel.all.load", "1 minute", load(at)))
	}
	p.wait(t, `location.hash.includes("at=") && location.hash.includes("source=busy")`)
	p.keys(t, "End")
	p.wait(t, `!location.hash.includes("at=")`)
	// Switch to the live source, and then to a source that does not exist.
	p.eval(t, `(() => { const e = document.getElementById("source"); e.value = ""; e.dispatchEvent(new Event("change")); })()`)
	p.wait(t, `document.body.dataset.state === "live" && `+near("kernel.all.load", "5 minute", 1))
	p.eval(t, `location.hash = "#source=no.such"`)
	p.wait(t, textOf("#notice")+`.includes("host is not allowed: no.such")`)
}
