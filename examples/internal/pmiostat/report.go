package pmiostat

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// The metrics of a report.
const (
	reads = iota
	readBytes
	writes
	writeBytes
	readMerges
	writeMerges
	readBlocks // not printed, but required
	writeBlocks
	readTime
	writeTime
	busyTime
	metricCount
)

var metricNames = [metricCount]string{"read", "read_bytes", "write", "write_bytes", "read_merge", "write_merge", "blkread", "blkwrite",
	"read_rawactive", "write_rawactive", "avactive"}

// A report prints samples.
type report struct {
	*command
	pc      *pmapi.Context
	out     *bufio.Writer
	devices *regexp.Regexp // nil for all
	ids     []pdu.PMID
	descs   []pdu.Desc
	first   []pdu.Desc // of the start: values are in their units
	count   int        // of samples printed

	now, before sample
	result      pdu.Result
}

// A sample is the values of the metrics of devices at a time.
type sample struct {
	time   time.Time
	values [metricCount]map[string]float64
}

// find looks up the metrics.
func (r *report) find(ctx context.Context) error {
	family := "disk.dev."
	if r.mappers {
		family = "disk.dm."
	}
	names := make([]string, metricCount)
	for m, name := range metricNames {
		names[m] = family + name
	}
	ids, err := r.pc.Lookup(ctx, names)
	var missing []string
	for i, id := range ids {
		if id == pdu.NoPMID {
			missing = append(missing, names[i])
		}
	}
	if missing != nil {
		return &pcptool.ExitError{Status: 1, Err: err, Message: fmt.Sprintf("Error: not all required metrics are available\nMissing %s\n", pmcc.List(missing))}
	}
	var descs []pdu.Desc
	if err == nil {
		descs, err = r.pc.Descs(ctx, ids)
	}
	if err != nil {
		return &pmcc.Error{Err: err}
	}
	r.ids, r.descs = ids, descs
	if r.first == nil {
		r.first = descs
	}
	_, err = r.instances(ctx, r.descs[reads].InDom) // which no heading comes before
	if err != nil {
		return &pmcc.Error{Err: err}
	}
	return nil
}

// instances returns the devices of a domain.
func (r *report) instances(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error) {
	if pcptool.IsArchive(r.pc) {
		return r.pc.InstancesEver(ctx, d)
	}
	return r.pc.Instances(ctx, d)
}

// fetch fetches the next sample.
func (r *report) fetch(ctx context.Context) error {
	if err := r.pc.Fetch(ctx, r.ids, &r.result); err != nil {
		return err
	}
	r.before, r.now = r.now, sample{time: r.result.Time}
	fetched := r.descs
	if r.result.Changed.AffectsNames() {
		_ = r.find(ctx) // if metrics are missing, their old identifiers have no values
	}
	names := map[pdu.InDom]pcptool.InstanceNames{}
	for m, desc := range r.descs {
		r.now.values[m] = map[string]float64{}
		if desc != fetched[m] || desc.Sem != r.first[m].Sem {
			continue // the next sample has values of this metric, unless it is no longer a counter
		}
		set := r.result.At(m)
		for i := range set.Len() {
			name, err := r.instanceName(ctx, names, desc.InDom, set.Inst(i))
			if err != nil {
				return err
			}
			v, err := pdu.As[float64](set.Atom(i, desc.Type))
			if units := r.first[m].Units; err == nil && desc.Units != units {
				v, err = convert(v, desc.Units, units)
			}
			if err == nil && name != "" {
				r.now.values[m][name] = v
			}
		}
	}
	return nil
}

// convert converts a number to other units.
func convert(v float64, from, to pdu.Units) (float64, error) {
	a, err := pdu.Float64(v).ConvertUnits(from, to)
	if err != nil {
		return 0, err
	}
	return pdu.As[float64](a)
}

// instanceName returns the name of a device, "" if it has no name. It requests the devices of a
// domain once per sample.
func (r *report) instanceName(ctx context.Context, known map[pdu.InDom]pcptool.InstanceNames, d pdu.InDom, inst pdu.InstID) (string, error) {
	names, ok := known[d]
	if !ok {
		insts, err := r.instances(ctx, d)
		if err != nil {
			return "", err
		}
		names = pcptool.NewInstanceNames(insts)
		known[d] = names
	}
	name, _ := names.Name(inst)
	return name, nil
}

// headingPeriod is the number of samples below a heading.
const headingPeriod = 23

// printSample prints the differences between the last two samples. As in PCP's tool a device that
// lacks a value ends it.
func (r *report) printSample() {
	if r.count%headingPeriod == 0 && !r.noHeadings {
		r.printHeading()
	}
	r.count++
	for _, values := range r.before.values {
		if len(values) == 0 {
			if r.timestamps {
				r.printRow("NODATA", [columnCount]float64{}, false)
			}
			return
		}
	}
	var total [columnCount]float64
	matching := 0
	for _, device := range slices.Sorted(maps.Keys(r.now.values[reads])) {
		if r.devices != nil && !r.devices.MatchString(device) {
			continue
		}
		row, ok := r.row(device)
		if !ok {
			return
		}
		if row == nil {
			if r.aggregate == "" {
				r.printRow(device, [columnCount]float64{}, false)
			}
			continue
		}
		matching++
		if r.aggregate != "" {
			r.add(&total, *row)
			continue
		}
		idle := row[0] == 0 && row[1] == 0 && row[2] == 0 && row[3] == 0
		if !r.noIdle || !idle {
			r.printRow(device, *row, true)
		}
	}
	if r.aggregate == "" {
		return
	}
	if r.aggregate == "avg" && matching > 0 {
		for i := range total {
			total[i] /= float64(matching)
		}
	}
	r.printRow(fmt.Sprintf("%s(%s)", r.aggregate, r.pattern), total, true)
}

// add adds a device to the aggregate. The minimum starts at 0, as in PCP's tool.
func (r *report) add(total *[columnCount]float64, row [columnCount]float64) {
	for i, v := range row {
		switch r.aggregate {
		case "min":
			total[i] = min(total[i], v)
		case "max":
			total[i] = max(total[i], v)
		default:
			total[i] += v
		}
	}
}

// row returns the columns of a device. They are nil if a counter was reset or no time has passed.
// ok is false if one of the samples lacks a value.
func (r *report) row(device string) (row *[columnCount]float64, ok bool) {
	seconds := r.now.time.Sub(r.before.time).Seconds()
	comparable := seconds > 0
	var change [metricCount]float64
	for m := range change {
		from, ok1 := r.before.values[m][device]
		to, ok2 := r.now.values[m][device]
		if !ok1 || !ok2 {
			return nil, false
		}
		var err error
		change[m], err = pmapi.CounterChange(pdu.Float64(from), pdu.Float64(to), false)
		comparable = comparable && err == nil
	}
	if !comparable {
		return nil, true
	}
	per := func(v, n float64) float64 {
		if n == 0 {
			return 0
		}
		return v / n
	}
	requests := change[reads] + change[writes]
	busy := change[readTime] + change[writeTime]
	return &[columnCount]float64{
		per(change[readMerges], seconds), per(change[writeMerges], seconds), per(change[reads], seconds), per(change[writes], seconds),
		per(change[readBytes], seconds), per(change[writeBytes], seconds), per(change[readBytes]+change[writeBytes], requests),
		per(busy, seconds) / 1000, per(busy, requests), per(change[readTime], change[reads]), per(change[writeTime], change[writes]),
		per(change[busyTime]/1000*100, seconds),
	}, true
}

const columnCount = 12

// columns are the columns after the name. The width is at least that of the heading and grows with
// the precision.
var columns = [columnCount]struct {
	heading         string
	wider, decimals int // than the precision
}{
	{"rrqm/s", 5, 0}, {"wrqm/s", 5, 0}, {"r/s", 5, 0}, {"w/s", 4, 0}, {"rkB/s", 6, 0}, {"wkB/s", 6, 0},
	{"avgrq-sz", 6, 1}, {"avgqu-sz", 6, 1}, {"await", 5, 0}, {"r_await", 5, 0}, {"w_await", 5, 0}, {"%util", 5, 0},
}

func (r *report) width(column int) int {
	return max(len(columns[column].heading), r.precision+columns[column].wider)
}

const deviceWidth = 12

func (r *report) printHeading() {
	if r.timestamps {
		fmt.Fprintf(r.out, "%-*s %-*s", len(pcptool.CtimeLayout), "# Timestamp", deviceWidth, "Device")
	} else {
		fmt.Fprintf(r.out, "%-*s", deviceWidth, "# Device")
	}
	for i, c := range columns {
		fmt.Fprintf(r.out, " %*s", r.width(i), c.heading)
	}
	r.out.WriteByte('\n')
}

// printRow prints a row, with "?" for all values if they are unknown.
func (r *report) printRow(device string, row [columnCount]float64, known bool) {
	if r.timestamps {
		r.out.WriteString(r.now.time.In(r.Location).Format(pcptool.CtimeLayout) + " ")
	}
	fmt.Fprintf(r.out, "%-*s", deviceWidth, strings.ToValidUTF8(device, "?"))
	for i, v := range row {
		if known {
			fmt.Fprintf(r.out, " %*.*f", r.width(i), r.precision+columns[i].decimals, v)
		} else {
			fmt.Fprintf(r.out, " %*s", r.width(i), "?")
		}
	}
	r.out.WriteByte('\n')
}
