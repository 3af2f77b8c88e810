package pmtop

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A view is the choices of the user.
type view struct {
	location *time.Location
	interval time.Duration
	zoom     string // the title of the only section that is shown; empty for all
	scroll   int    // rows of that section above the screen
	paused   bool
	help     bool
	message  string // what is wrong, or has been done
}

// helpText is shown instead of the sections.
var helpText = []string{
	"q             quit",
	"space         stop, and go on",
	"+ -           a longer, a shorter interval",
	"0             all sections",
	"1 2 3 …       one section with all its rows",
	"up, down      scroll in it, also page up, page down",
	"h             this help, and back",
	"",
	"Archives:",
	"left, right   a step back, a step forward; with < and > ten",
	"home, end     to the beginning, to the end",
	"",
	"Bars of processors: | user, # system, . waiting for disks, x stolen by the hypervisor",
	"Bars of memory:     | used, . buffers and cache",
}

// lines returns the view of a sample on a screen of a size. Height 0 means no limit.
func (v *view) lines(s *sample, width, height int) []line {
	header := v.header(s, width)
	if height == 0 {
		return append([]line{header}, join(s.sections(width), -1)...)
	}
	var body []line
	switch {
	case v.help:
		for _, l := range helpText {
			body = append(body, text(l))
		}
	default:
		body = v.body(s.sections(width), height-2)
	}
	if len(body) > height-2 {
		body = body[:max(0, height-2)]
	}
	for len(body) < height-2 {
		body = append(body, nil)
	}
	lines := append([]line{header}, body...)
	return append(lines, v.footer(s.sections(width)))[:min(height, len(body)+2)]
}

// header returns the line with the host and the time of the values.
func (v *view) header(s *sample, width int) line {
	left := " " + s.host
	if len(s.load) > 0 {
		left += "  load"
		for _, l := range s.load {
			left += fmt.Sprintf(" %.2f", l)
		}
	}
	if s.uptime > 0 {
		left += "  up " + elapsed(s.uptime)
	}
	if s.system != "" {
		left += "  " + s.system
	}
	right := s.at.In(v.location).Format("2006-01-02 15:04:05") + fmt.Sprintf("  every %v ", v.interval)
	if v.paused {
		right += "stopped "
	}
	left = clip(left, max(0, width-len(right)-1))
	return line{{padRight(left, max(0, width-len(right))) + right, inverse}}
}

// footer returns the line with the keys or with an error.
func (v *view) footer(sections []section) line {
	if v.message != "" {
		return line{{v.message, hot}}
	}
	var b strings.Builder
	b.WriteString("q quit  space stop  + - interval  h help  0 all")
	for i, s := range sections {
		fmt.Fprintf(&b, "  %d %s", i+1, s.title)
	}
	return line{{b.String(), dim}}
}

// body returns the lines between header and footer.
func (v *view) body(sections []section, height int) []line {
	i := slices.IndexFunc(sections, func(s section) bool { return s.title == v.zoom })
	if i < 0 {
		return join(sections, height)
	}
	s := sections[i]
	room := max(1, height-len(s.fixed))
	v.scroll = max(0, min(v.scroll, len(s.rows)-room))
	return append(slices.Clone(s.fixed), s.rows[v.scroll:min(len(s.rows), v.scroll+room)]...)
}

// join puts sections below each other, separated by blank lines. If they are higher than height,
// rows of the longest sections are left out. Height -1 means no limit.
func join(sections []section, height int) []line {
	room := make([]int, len(sections))
	total := max(0, len(sections)-1)
	for i, s := range sections {
		room[i] = len(s.rows)
		total += len(s.fixed) + len(s.rows)
	}
	for ; height >= 0 && total > height; total-- {
		highest := 0
		for i := range room {
			if room[i] > room[highest] {
				highest = i
			}
		}
		if len(room) == 0 || room[highest] == 0 {
			break
		}
		room[highest]--
	}
	var lines []line
	for i, s := range sections {
		if i > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, s.fixed...)
		if hidden := len(s.rows) - room[i]; hidden > 0 && room[i] > 0 {
			lines = append(lines, s.rows[:room[i]-1]...)
			lines = append(lines, line{{fmt.Sprintf("… %d more", hidden+1), dim}})
		} else {
			lines = append(lines, s.rows[:room[i]]...)
		}
	}
	return lines
}
