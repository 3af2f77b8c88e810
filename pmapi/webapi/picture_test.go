package webapi_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// pictureTime is the duration that the picture of README.md shows.
const pictureTime = time.Minute

// TestPagePictures makes the picture of README.md, testdata/page.png, and the same in the dark. It
// runs only with -pictures:
//
//	go test ./pmapi/webapi -run PagePictures -args -pictures testdata
//
// It takes the minute that the page shows. With -pictures-of it makes pictures of another page, at
// full length and in its current state.
func TestPagePictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures")
	}
	address, height, values := *picturesOf, 2000, 1
	if address == "" {
		src := shopSource()
		s := &pageServer{addr: "127.0.0.1:0", g: &webapi.Gateway{Local: sourceOf(src.Context)}}
		s.start(t)
		defer func() {
			s.srv.Close()
			s.g.Close()
		}()
		address, height, values = "http://"+s.addr+"/pcp/#window=60", 780, int(pictureTime.Seconds())+2
	}
	p := startBrowser(t).open(t, address, 1280, height)
	time.Sleep(time.Duration(values) * time.Second)
	p.wait(t, `document.querySelector("[data-value]:not([data-value=''])") !== null`)
	p.picture(t, *pictures, "page")
	p.keys(t, "t")
	p.wait(t, `document.documentElement.dataset.theme === "dark"`)
	p.picture(t, *pictures, "page-dark")
	if *picturesOf == "" {
		for _, name := range []string{"page.png", "page-dark.png"} {
			shrinkPicture(t, filepath.Join(*pictures, name))
		}
	}
}

// shrinkPicture reduces a picture to its 256 most frequent colours, and to a third of its size.
func shrinkPicture(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.Color]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			count[full.At(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	few := image.NewPaletted(full.Bounds(), all[:min(len(all), 256)])
	draw.Draw(few, few.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A course is the rate of random events, for each second of a picture: about a mean, with bursts.
type course []float64

func newCourse(r *rand.Rand, mean, noise, burst float64) course {
	c := make(course, 4*int(pictureTime.Seconds()))
	level, peak := 0.0, 0.0
	for i := range c {
		level = 0.85*level + noise*r.NormFloat64()
		if peak *= 0.8; r.Float64() < 0.06 {
			peak += burst * r.Float64()
		}
		c[i] = max(0.05*mean, mean*(1+level+peak))
	}
	return c
}

// at returns the rate after a time, and total the number of events until then.
func (c course) at(d time.Duration) float64 { return c[min(int(d.Seconds()), len(c)-1)] }

func (c course) total(d time.Duration) (sum float64) {
	whole := min(int(d.Seconds()), len(c)-1)
	for _, rate := range c[:whole] {
		sum += rate
	}
	return sum + c[whole]*(d.Seconds()-float64(whole))
}

// shopSource returns the host of a shop. Its values are the same in each run.
func shopSource() *pmapitest.Source {
	s := &pmapitest.Source{Host: "web1.example.com", Labels: `{"hostname":"web1.example.com"}`}
	r, began := rand.New(rand.NewPCG(2, 6)), time.Now().Add(-time.Second)
	counter := func(name string, units pdu.Units, d *pmapitest.InDom, courses ...course) {
		pmapitest.Add(s, pmapitest.Metric[uint64]{Name: name, Sem: pdu.SemCounter, Units: units, InDom: d,
			Value: func(now time.Time, i pdu.Instance) (uint64, error) {
				return uint64(courses[max(i.ID, 0)].total(now.Sub(began))), nil
			}})
	}
	gauge := func(name string, units pdu.Units, d *pmapitest.InDom, courses ...course) {
		pmapitest.Add(s, pmapitest.Metric[float64]{Name: name, Units: units, InDom: d,
			Value: func(now time.Time, i pdu.Instance) (float64, error) {
				return courses[max(i.ID, 0)].at(now.Sub(began)), nil
			}})
	}
	const processors = 8
	idle := newCourse(r, 0, 0, 0)
	for i := range idle {
		idle[i] = processors * 1e6
	}
	for _, part := range []struct {
		name               string
		share, noise, wild float64
	}{{"user", 1.7, 0.08, 1.4}, {"nice", 0, 0, 0}, {"sys", 0.6, 0.08, 0.8}, {"irq.hard", 0, 0, 0}, {"irq.soft", 0.06, 0.1, 1}, {"wait.total", 0.15, 0.2, 3}, {"steal", 0.02, 0.2, 1}} {
		c := newCourse(r, part.share*1e6, part.noise, part.wild)
		for i := range idle {
			idle[i] = max(0, idle[i]-c[i])
		}
		counter("kernel.all.cpu."+part.name, pdu.TimeUSec, nil, c)
	}
	counter("kernel.all.cpu.idle", pdu.TimeUSec, nil, idle)
	gauge("hinv.ncpu", 0, nil, newCourse(r, processors, 0, 0))
	gauge("mem.physmem", pdu.SpaceMByte, nil, newCourse(r, 32<<10, 0, 0))
	gauge("mem.util.available", pdu.SpaceMByte, nil, newCourse(r, 20<<10, 0.003, 0))
	gauge("mem.util.free", pdu.SpaceMByte, nil, newCourse(r, 5<<10, 0.004, 0))
	gauge("kernel.all.load", 0, s.InDom("1 minute", "5 minute", "15 minute"), newCourse(r, 2.6, 0.02, 0.15), newCourse(r, 2.1, 0.004, 0), newCourse(r, 1.8, 0.001, 0))
	counter("disk.all.read_bytes", pdu.SpaceByte, nil, newCourse(r, 4<<20, 0.3, 4))
	counter("disk.all.write_bytes", pdu.SpaceByte, nil, newCourse(r, 7<<20, 0.15, 2))
	nets := s.InDom("lo", "eth0")
	counter("network.interface.in.bytes", pdu.SpaceByte, nets, newCourse(r, 9<<20, 0.1, 0), newCourse(r, 5<<20, 0.12, 0.6))
	counter("network.interface.out.bytes", pdu.SpaceByte, nets, newCourse(r, 9<<20, 0.1, 0), newCourse(r, 18<<20, 0.12, 0.8))
	shopProcesses(s, r, counter, gauge)
	return s
}

// shopProcesses adds the processes of the host.
func shopProcesses(s *pmapitest.Source, r *rand.Rand, counter, gauge func(string, pdu.Units, *pmapitest.InDom, ...course)) {
	var names []string
	var user, system, memory []course
	for _, p := range []struct {
		name      string
		busy, mib float64 // busy milliseconds a second, and MiB
	}{
		{"002210 /usr/bin/java -jar shop.jar", 980, 2210}, {"001204 nginx: worker process", 410, 96}, {"001205 nginx: worker process", 370, 94},
		{"000913 postgres: checkpointer", 240, 535}, {"003310 redis-server 127.0.0.1:6379", 85, 212}, {"000701 /usr/lib/pcp/bin/pmlogger", 9, 27},
		{"000655 /usr/sbin/sshd -D", 3, 15}, {"000001 /sbin/init", 2, 11},
	} {
		names = append(names, p.name)
		user = append(user, newCourse(r, 0.8*p.busy, 0.05, 0.2))
		system = append(system, newCourse(r, 0.2*p.busy, 0.05, 0.2))
		memory = append(memory, newCourse(r, p.mib*1024, 0.001, 0))
	}
	d := s.InDom(names...)
	counter("proc.psinfo.utime", pdu.TimeMSec, d, user...)
	counter("proc.psinfo.stime", pdu.TimeMSec, d, system...)
	gauge("proc.psinfo.rss", pdu.SpaceKByte, d, memory...)
}
