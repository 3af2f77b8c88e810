package toolcmp

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmda"
)

// writtenTypes are the types of the metrics of writeImported and their names.
var writtenTypes = []struct {
	name string
	typ  pdu.Type
	sem  pdu.Sem
}{
	{"all.i32", pdu.Type32, pdu.SemInstant}, {"all.u32", pdu.TypeU32, pdu.SemCounter}, {"all.i64", pdu.Type64, pdu.SemInstant},
	{"all.u64", pdu.TypeU64, pdu.SemCounter}, {"all.float", pdu.TypeFloat, pdu.SemInstant}, {"all.double", pdu.TypeDouble, pdu.SemDiscrete},
	{"all.string", pdu.TypeString, pdu.SemDiscrete}, {"all.aggregate", pdu.TypeAggregate, pdu.SemInstant},
	{"all.event", pdu.TypeEvent, pdu.SemInstant}, {"all.highres", pdu.TypeHighResEvent, pdu.SemInstant},
}

// writtenAtom is the nth value of a type.
func writtenAtom(t *testing.T, typ pdu.Type, n int, now time.Time) pdu.Atom {
	switch typ {
	case pdu.Type32:
		return pdu.Int32(int32(-n*n*n) + 1000)
	case pdu.TypeU32:
		return pdu.Uint32(math.MaxUint32 - 40_000 + uint32(n)*3000) // wraps
	case pdu.Type64:
		return pdu.Int64(int64(10-n) << 40)
	case pdu.TypeU64:
		return pdu.Uint64(uint64(n*n) << 33)
	case pdu.TypeFloat:
		return pdu.Float32(float32(n)/7 - 1)
	case pdu.TypeDouble:
		return pdu.Float64(math.Pow(-11, float64(n%12-6)))
	case pdu.TypeString:
		return pdu.String([]string{"", "a text", "quote \" and \\", "Größe", "two\nlines", strings.Repeat("long ", 40)}[n%6])
	case pdu.TypeAggregate:
		return pdu.Aggregate([]byte("\x00\x01aggregate\xff"[:n%13]))
	}
	b := pdu.EventBuilder{HighRes: typ == pdu.TypeHighResEvent}
	for i := range n % 3 {
		b.Begin(now.Add(time.Duration(i)*time.Millisecond), pdu.EventFlags(1+i))
		b.Param(pdu.MakePMID(245, 0, 1), pdu.Int32(int32(n)))
		b.Param(pdu.MakePMID(245, 0, 7), pdu.String("of an event"))
	}
	b.Missed(now, n)
	a, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// unitsOf are units of metrics of a type.
func unitsOf(typ pdu.Type) pdu.Units {
	if typ > pdu.TypeDouble {
		return 0 // pmrep of PCP would convert texts
	}
	return pdu.SpaceKByte
}

// writeImported writes an archive of package logimport.
func writeImported(t *testing.T, base string, version int) {
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}, VolumeRecords: 12, IndexEvery: 4000})
	ok(err)
	ids := map[string]pdu.PMID{}
	for i, m := range writtenTypes {
		ids[m.name] = pdu.MakePMID(245, 0, i+1)
		_, err := im.AddMetric(m.name, pdu.Desc{PMID: ids[m.name], Type: m.typ, InDom: pdu.NoInDom, Sem: m.sem, Units: unitsOf(m.typ)})
		ok(err)
	}
	disks := pdu.MakeInDom(245, 1)
	_, err = im.AddMetric("disk.dev.read", pdu.Desc{PMID: pdu.MakePMID(245, 1, 1), Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter})
	ok(err)
	_, err = im.AddMetric("disk.dev.kind", pdu.Desc{PMID: pdu.MakePMID(245, 1, 2), Type: pdu.TypeString, InDom: disks, Sem: pdu.SemDiscrete})
	ok(err)
	now := time.Date(2026, 3, 14, 15, 9, 26, 535_897_932, time.UTC).Truncate(time.Microsecond)
	for n := range 40 {
		now = now.Add(time.Second + time.Duration(n*n%7)*130_017*time.Microsecond)
		if n%5 == 0 {
			ok(im.AddInstance(disks, fmt.Sprintf("sd%c of %d", 'a'+n/5, n), pdu.InstID(100-7*n/5)))
		}
		for i, m := range writtenTypes {
			if (n+i)%9 != 0 {
				ok(im.Put(m.name, "", writtenAtom(t, m.typ, n, now)))
			}
		}
		for i := 0; i <= n; i += 5 {
			if inst := fmt.Sprintf("sd%c of %d", 'a'+i/5, i); (n+i)%4 != 0 {
				ok(im.Put("disk.dev.read", inst, pdu.Uint64(uint64(n*(i+1)*1000))))
				ok(im.Put("disk.dev.kind", inst, pdu.String("kind "+fmt.Sprint(n/8))))
			}
		}
		if n == 17 {
			_ = im.Put("all.i32", "", pdu.String("no number")) // the metric has an error
		}
		importMetadata(t, im, n, disks, ids)
		ok(im.Write(now))
		if n%13 == 12 {
			ok(im.PutMark())
		}
	}
	ok(im.Close())
}

// importMetadata enters texts and labels of all kinds.
func importMetadata(t *testing.T, im *logimport.Importer, n int, disks pdu.InDom, ids map[string]pdu.PMID) {
	id := uint32(ids["all.u32"])
	labels := []struct {
		class pdu.LabelClass
		ident uint32
		inst  pdu.InstID
		value any
	}{
		{pdu.LabelContext, 0, pdu.NoInst, "web1"}, {pdu.LabelDomain, 245, pdu.NoInst, 7}, {pdu.LabelCluster, uint32(pdu.MakePMID(245, 1, 0)), pdu.NoInst, true},
		{pdu.LabelItem, id, pdu.NoInst, []int{1, 2}}, {pdu.LabelInDom, uint32(disks), pdu.NoInst, "disks"}, {pdu.LabelInstances, uint32(disks), 100, 1.5},
	}
	switch {
	case n == 2:
		for kind, ident := range map[pdu.TextKind]uint32{pdu.TextPMID: id, pdu.TextInDom: uint32(disks)} {
			for _, k := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
				if err := im.PutHelp(kind|k, ident, fmt.Sprintf("Text %d\nof %d.", k, ident)); err != nil {
					t.Fatal(err)
				}
			}
		}
	case n%6 == 3:
		l := labels[n/6%len(labels)]
		for _, name := range []string{"site", "rack"} {
			if err := im.PutLabel(l.class, l.ident, l.inst, name, l.value); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// logTo records a source for a time, in a bubble of testing/synctest. While it does, each second is
// called.
func logTo(t *testing.T, base string, version int, src *pmapi.Context, config string, seconds int, each func(second int)) {
	t.Helper()
	time.Sleep(123_456_789 * time.Nanosecond)
	defer src.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- logger.Run(ctx, src, logger.Options{Config: config, Base: base, Host: "here", Port: 4330,
			Writer: archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}, VolumeRecords: 15, IndexEvery: 5000},
			Report: func(logger.Event) {}})
	}()
	for n := range seconds {
		time.Sleep(time.Second)
		synctest.Wait()
		each(n)
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// writeLogged records a made-up source that changes all the time.
func writeLogged(t *testing.T, base string, version int) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{Labels: `{"site":"here"}`, AutoReconnect: true}
		n := 0
		params := map[string]pdu.PMID{}
		for _, m := range writtenTypes[:8] {
			params[m.name] = pmapitest.Add(src, pmapitest.Metric[pdu.Atom]{Name: m.name, Type: m.typ, Sem: m.sem, Units: unitsOf(m.typ), Text: "of " + m.name,
				Help: "A metric of a type.\n", Value: func(now time.Time, _ pdu.Instance) (pdu.Atom, error) {
					if n%11 == 7 {
						return pdu.Atom{}, pdu.ErrAgain
					}
					return writtenAtom(t, m.typ, n, now), nil
				}}).Desc().PMID
		}
		events := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "log.records", Type: pdu.TypeEvent})
		precise := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "log.highres", Type: pdu.TypeHighResEvent})
		disks := src.InDom("sda", "sdb one", "sdc")
		disks.SetLabels(`{"kind":"disk"}`, func(i pdu.Instance) string { return `{"name":"` + i.Name + `"}` })
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: disks, Sem: pdu.SemCounter, Labels: `{"own":[1,2]}`,
			Value: func(_ time.Time, i pdu.Instance) (uint64, error) { return uint64(1000*n + int(i.ID)), nil }})
		pmapitest.Add(src, pmapitest.Metric[string]{Name: "disk.dev.name", InDom: disks, Sem: pdu.SemDiscrete,
			Value: func(_ time.Time, i pdu.Instance) (string, error) { return i.Name, nil }})
		config := "log mandatory on 1 sec { all log }\nlog mandatory on 700 msec { disk.dev }\nlog mandatory on once all.i32\n"
		logTo(t, base, version, src.Context(), config, 40, func(second int) {
			n = second + 1
			events.Record(pdu.EventPoint, pmapitest.Param{PMID: params["all.i32"], Value: pdu.Int32(int32(n))})
			precise.Record(pdu.EventStart|pdu.EventID, pmapitest.Param{PMID: params["all.string"], Value: pdu.String("text")})
			precise.Missed(n % 3)
			switch n {
			case 5:
				disks.SetNames("sda", "sdc", "sdd", "sde", "sdf")
			case 10:
				disks.SetNames("sdc", "sdf", "sda")
			case 15:
				src.SetLabels(pdu.LabelDomain, uint32(params["all.i32"].Domain()), `{"agent":"made up"}`)
			case 20:
				src.Break(nil)
			case 23:
				src.Restore()
			case 30:
				disks.SetNames()
			case 33:
				disks.SetNames("sdz", "sda")
			}
		})
	})
}

// writeSample records our agent sample, in this process.
func writeSample(t *testing.T, base string, version int) {
	synctest.Test(t, func(t *testing.T) {
		agents := &local.Agents{Handlers: []pmda.Handler{sample.New(sample.Options{})}}
		c, err := agents.Open()
		if err != nil {
			t.Fatal(err)
		}
		other, err := agents.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		config := "log mandatory on 1 sec { sample.event sample.dynamic sample.many sample.aggregate sample.colour }\n" +
			"log mandatory on 800 msec { sample.bin sample.drift sample.string sample.float sample.double sample.long sample.ulonglong sample.step }\n" +
			"log mandatory on once { sample.hordes.two sample.bad sample.dupnames }"
		logTo(t, base, version, c, config, 30, func(second int) {
			if err := other.Store(t.Context(), "sample.many.count", second*7%11); err != nil {
				t.Error(err)
			}
		})
	})
}
