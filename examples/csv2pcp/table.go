package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// A table is comma-separated values to be converted to an archive.
type table struct {
	zone     *time.Location
	progress func(rows int, read int64) // called now and then; may be nil
	columns  []logimport.Handle
	last     time.Time // of the rows so far
}

// convert writes an archive of the rows. On error it leaves no archive.
func (t *table) convert(in io.Reader, base string, o archive.WriterOptions) error {
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("no names of columns: %w", err)
	}
	im, err := logimport.New(base, o)
	if err != nil {
		return err
	}
	if err := t.define(im, header); err != nil {
		return errors.Join(err, discard(im, base))
	}
	for rows := 1; ; rows++ {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return im.Close()
		}
		if err == nil {
			if err = t.row(im, fields); err != nil {
				line, _ := r.FieldPos(0)
				err = fmt.Errorf("line %d: %w", line, err)
			}
		}
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			err = fmt.Errorf("line %d: byte %d: %w", e.Line, e.Column, e.Err) // there may be no fields
			switch {
			case errors.Is(err, csv.ErrFieldCount):
				err = fmt.Errorf("line %d: %w: each line needs %d fields, as the first one has", e.Line, e.Err, len(header))
			case errors.Is(err, csv.ErrQuote), errors.Is(err, csv.ErrBareQuote):
				err = fmt.Errorf("%w: put the field in quotes, and write a quote in it as two", err)
			}
		}
		if err != nil {
			return errors.Join(err, discard(im, base))
		}
		if t.progress != nil && rows%1024 == 0 {
			t.progress(rows, r.InputOffset())
		}
	}
}

// discard closes and removes an archive whose files did not exist before.
func discard(im *logimport.Importer, base string) error {
	err := im.Close()
	found, _ := archive.Options{}.Find(base) // there are no files before the first row
	for _, files := range found {
		for _, path := range files.Paths() {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// define adds the metrics and instances of the columns.
func (t *table) define(im *logimport.Importer, header []string) error {
	descs := map[string]pdu.Desc{}
	instances := map[string]pdu.InstID{} // how many a metric has
	for _, column := range header[1:] {
		name, instance, desc, err := parseColumn(column)
		if err != nil {
			return fmt.Errorf("column %q: %w", column, err)
		}
		if _, known := descs[name]; !known || instance == "" {
			if instance != "" {
				desc.InDom = pdu.MakeInDom(logimport.Domain, len(descs)) // each metric has its own
			}
			descs[name] = desc
			_, err = im.AddMetric(name, desc)
		}
		if err == nil && instance != "" && descs[name].InDom != pdu.NoInDom {
			err = im.AddInstance(descs[name].InDom, instance, instances[name])
			instances[name]++
		}
		var h logimport.Handle
		if err == nil {
			h, err = im.Handle(name, instance)
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", column, err)
		}
		t.columns = append(t.columns, h)
	}
	return nil
}

// parseColumn parses the name of a column: NAME[INSTANCE]:KIND.
func parseColumn(s string) (name, instance string, d pdu.Desc, err error) {
	d = pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	name, kind := strings.TrimSpace(s), ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
		name, kind = name[:i], name[i+1:]
	}
	switch kind {
	case "":
	case "counter":
		d.Sem = pdu.SemCounter
	case "discrete":
		d.Sem = pdu.SemDiscrete
	case "string":
		d.Type, d.Sem = pdu.TypeString, pdu.SemDiscrete
	default:
		return "", "", d, fmt.Errorf("%q is none of counter, discrete, string%s", kind, similar(kind))
	}
	name, rest, found := strings.Cut(name, "[")
	if instance = strings.TrimSuffix(rest, "]"); found && (instance == rest || instance == "") {
		return "", "", d, errors.New("want an instance in brackets")
	}
	return name, instance, d, nil
}

// similar returns the kind that a misspelt one resembles.
func similar(kind string) string {
	if near := wording.Similar(kind, []string{"counter", "discrete", "string"}); len(near) > 0 {
		return ": similar word: " + near[0]
	}
	return ""
}

// row writes the values of a row.
func (t *table) row(im *logimport.Importer, fields []string) error {
	at, err := parseTime(fields[0], t.zone, t.last)
	if err != nil {
		return err
	}
	t.last = at
	some := false
	for i, field := range fields[1:] {
		if field == "" {
			continue
		}
		if err := t.columns[i].PutText(field); errors.Is(err, pdu.ErrConv) {
			return fmt.Errorf("column %d: %q is not a number: add :string to the name of the column to record texts", i+2, field)
		} else if err != nil {
			return fmt.Errorf("column %d: %q: %w", i+2, field, err)
		}
		some = true
	}
	if !some {
		return nil
	}
	return im.Write(at)
}

// parseTime parses seconds since 1970, or a date and time. When clocks are set back, local times
// occur twice. Then it returns the first one after last.
func parseTime(s string, zone *time.Location, last time.Time) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if sec, err := strconv.ParseInt(whole, 10, 64); err == nil {
		nsec, err := strconv.ParseUint((fraction + "000000000")[:9], 10, 32)
		if err != nil {
			return time.Time{}, notTime(s)
		}
		return time.Unix(sec, int64(nsec)), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime} {
		if wall, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return atWall(wall, zone, last)
		}
	}
	return time.Time{}, notTime(s)
}

// notTime returns the error of a field in the column of times.
func notTime(s string) error {
	return fmt.Errorf("%q is not a time: write seconds since 1970, 2026-11-23 10:30:00 or 2026-11-23T10:30:00Z", s)
}

// atWall returns the time when the clocks of a zone show the date and time of wall.
func atWall(wall time.Time, zone *time.Location, last time.Time) (time.Time, error) {
	var found []time.Time
	for _, day := range []int{-1, 1} { // with the offset before a change of the clocks, and after it
		_, offset := wall.AddDate(0, 0, day).In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if t.Format(time.DateTime) == wall.Format(time.DateTime) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	if len(found) == 0 {
		return time.Time{}, fmt.Errorf("%s does not exist in %v, where the clocks are set forward", wall.Format(time.DateTime), zone)
	}
	if i := slices.IndexFunc(found, last.Before); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}
