package pmtop

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A section is a part of the view. Its fixed lines are always shown, and as many of its rows as
// fit.
type section struct {
	title string
	fixed []line
	rows  []line
}

// sections returns the parts of the view that have values in the sample.
func (v *sample) sections(width int) []section {
	var list []section
	if v.all != nil || len(v.each) > 0 {
		list = append(list, v.processorSection(width))
	}
	if !math.IsNaN(v.memory[memoryTotal]) {
		list = append(list, v.memorySection(width))
	}
	for _, t := range v.tables {
		if len(t.rows) > 0 {
			list = append(list, t.section(width))
		}
	}
	if len(v.chosen) > 0 {
		list = append(list, v.chosenSection(width))
	}
	return list
}

const (
	labelWidth    = 6
	cellWidth     = 34 // of one of several processors in a line
	busy, veryHot = 50, 80
)

// A part is a part of a bar.
type part struct {
	share float64 // percent
	mark  byte
	style style
}

// bar returns a bar of width characters in brackets. A part ends at the character nearest to the
// sum of the parts so far.
func bar(width int, parts ...part) line {
	l := line{{text: "["}}
	sum, drawn := 0.0, 0
	for _, p := range parts {
		if p.share > 0 {
			sum += p.share
		}
		end := min(width, int(math.Round(sum*float64(width)/100)))
		if end > drawn {
			l = append(l, span{strings.Repeat(string(p.mark), end-drawn), p.style})
			drawn = end
		}
	}
	return append(l, span{text: strings.Repeat(" ", width-drawn) + "]"})
}

func (s *shares) bar(width int) line {
	return bar(width, part{s[timeUser], '|', good}, part{s[timeSystem], '#', hot}, part{s[timeWait], '.', cool}, part{s[timeStolen], 'x', warm})
}

func (s *shares) busy() float64 { return 100 - s[timeIdle] - s[timeWait] }

func (v *sample) processorSection(width int) section {
	s := section{title: "processors"}
	if v.all != nil {
		names := [timeKinds]string{"user", "system", "wait", "stolen", "idle"}
		var detail strings.Builder
		for kind, name := range names {
			fmt.Fprintf(&detail, "  %s %4.1f", name, v.all[kind])
		}
		l := line{{padRight("CPU", labelWidth), bold}}
		l = append(l, v.all.bar(barWidth(width, detail.Len()+7))...)
		s.fixed = append(s.fixed, append(l, temperature(padLeft(percent(v.all.busy()), 6), v.all.busy()), span{text: detail.String()}))
	}
	perLine := max(1, (width+2)/(cellWidth+2))
	// Consecutive processors are below each other.
	lines := (len(v.each) + perLine - 1) / perLine
	for i := range lines {
		l := line{}
		for k := i; k < len(v.each); k += lines {
			l = append(l, span{text: padLeft(strconv.Itoa(k), labelWidth-2) + "  "})
			l = append(l, v.each[k].bar(cellWidth-labelWidth-8)...)
			l = append(l, temperature(padLeft(percent(v.each[k].busy()), 6), v.each[k].busy()), span{text: "  "})
		}
		s.rows = append(s.rows, l)
	}
	return s
}

// barWidth returns the width of a bar between a label and a text.
func barWidth(width, detail int) int { return max(10, min(60, width-labelWidth-2-detail)) }

// temperature returns a text whose style shows how close a percentage is to 100.
func temperature(s string, v float64) span {
	switch {
	case v >= veryHot:
		return span{s, hot}
	case v >= busy:
		return span{s, warm}
	}
	return span{text: s}
}

func (v *sample) memorySection(width int) section {
	m := &v.memory
	total := m[memoryTotal]
	cache := known(m[memoryBuffers]) + known(m[memoryCached]) + known(m[memorySlab])
	used := max(0, total-known(m[memoryFree])-cache)
	detail := fmt.Sprintf(" of %s  used %s  buffers %s  cache %s", size(total), size(used), size(m[memoryBuffers]), size(known(m[memoryCached])+known(m[memorySlab])))
	if !math.IsNaN(m[memoryAvailable]) {
		detail += "  available " + size(m[memoryAvailable])
	}
	wide := barWidth(width, max(len(detail), 44)+8)
	s := section{title: "memory"}
	s.fixed = append(s.fixed, gauge("MEM", wide, detail, part{per(100*used, total), '|', good}, part{per(100*cache, total), '.', cool}))
	if swap := m[swapTotal]; !math.IsNaN(swap) {
		used := swap - known(m[swapFree])
		detail := fmt.Sprintf(" of %s  used %s", size(swap), size(used))
		s.fixed = append(s.fixed, gauge("SWAP", wide, detail, part{per(100*used, swap), '|', warm}))
	}
	return s
}

// gauge returns a line with a label, a bar, the percentage of its first part, and a text.
func gauge(label string, width int, detail string, parts ...part) line {
	l := line{{padRight(label, labelWidth), bold}}
	l = append(l, bar(width, parts...)...)
	return append(l, temperature(padLeft(percent(parts[0].share), 6)+" %", parts[0].share), span{text: detail})
}

// known returns a number, 0 if it is unknown.
func known(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// section formats a table. The first column is as wide as the longest name if it fits.
func (t *tableRows) section(width int) section {
	s := section{title: strings.ToLower(t.title)}
	longest := len(t.title)
	for _, r := range t.rows {
		longest = max(longest, utf8.RuneCountInString(r.name))
	}
	room := width - len(t.columns)*(columnWidth+1)
	nameWidth := max(12, min(longest, room))
	heading := padRight(t.title, nameWidth)
	for _, c := range t.columns {
		heading += " " + padLeft(c.heading, columnWidth)
	}
	s.fixed = []line{{{heading, bold}}}
	for _, r := range t.rows {
		l := line{{text: padRight(r.name, nameWidth)}}
		for i, c := range t.columns {
			cell := span{text: " " + padLeft(c.format(r.cells[i]), columnWidth)}
			if c.heat {
				cell = temperature(cell.text, r.cells[i])
			}
			l = append(l, cell)
		}
		s.rows = append(s.rows, l)
	}
	return s
}

func (v *sample) chosenSection(width int) section {
	name, instance, value := len("METRIC"), 0, len("VALUE")
	for _, r := range v.chosen {
		name = max(name, utf8.RuneCountInString(r.name))
		instance = max(instance, utf8.RuneCountInString(r.instance))
		value = max(value, utf8.RuneCountInString(r.value))
	}
	value = min(value, 24)
	name = min(name, max(12, (width-value)/2))
	if instance > 0 {
		instance = min(max(instance, len("INSTANCE")), max(8, width-name-value-12))
	}
	columns := func(n, i, v, units string) string {
		l := padRight(n, name)
		if instance > 0 {
			l += " " + padRight(i, instance)
		}
		return strings.TrimRight(l+" "+padLeft(v, value)+" "+units, " ")
	}
	s := section{title: "metrics", fixed: []line{{{columns("METRIC", "INSTANCE", "VALUE", ""), bold}}}}
	for _, r := range v.chosen {
		s.rows = append(s.rows, text(columns(r.name, r.instance, r.value, r.units)))
	}
	return s
}
