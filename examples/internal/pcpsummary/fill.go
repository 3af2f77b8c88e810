package pcpsummary

import (
	"math"
	"strings"
)

// Widths of lines of filled text. All lines are shorter than mostWidth, and goalWidth is the best
// width.
const (
	mostWidth = 64
	goalWidth = 59
)

// Fill breaks a text into lines at blanks, as fmt(1) of GNU does for a width of 64. It minimises
// the sum of the costs of all lines except the last. The cost of a line is the square of the
// difference from the goal, plus half the square of the difference from the next line, plus
// lineCost, in tenths of columns.
func Fill(text string) (lines []string) {
	var words []string // with the blanks before them
	for rest := text; strings.Trim(rest, " ") != ""; {
		end := len(rest) - len(strings.TrimLeft(rest, " "))
		if n := strings.IndexByte(rest[end:], ' '); n >= 0 {
			end += n
		} else {
			end = len(rest)
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	n := len(words)
	type tail struct{ cost, next, width int } // of the best lines that begin with a word
	best := make([]tail, n+1)
	for from := n - 1; from >= 0; from-- {
		best[from].cost = math.MaxInt
		width := -blanksBefore(words[from])
		for to := from + 1; to <= n; to++ {
			width += len(words[to-1])
			if width >= mostWidth && to > from+1 {
				break
			}
			cost := best[to].cost
			if to < n {
				cost += 100 * (goalWidth - width) * (goalWidth - width)
				if best[to].next < n {
					cost += 50 * (width - best[to].width) * (width - best[to].width)
				}
			}
			if cost < best[from].cost {
				best[from] = tail{cost, to, width}
			}
		}
		best[from].cost += lineCost(words, from)
	}
	for from := 0; from < n; from = best[from].next {
		lines = append(lines, strings.TrimLeft(strings.Join(words[from:best[from].next], ""), " "))
	}
	return lines
}

func blanksBefore(word string) int { return len(word) - len(strings.TrimLeft(word, " ")) }

// lineCost returns the cost of starting a line with a word, regardless of its width. Lines that
// start after punctuation or with a parenthesis cost less. A line with only the last word costs
// more.
func lineCost(words []string, from int) int {
	const line, bonus, orphan = 70 * 70, 40 * 40, 150 * 150
	word := strings.TrimLeft(words[from], " ")
	cost := line
	if from > 0 && strings.ContainsAny(words[from-1][len(words[from-1])-1:], "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") {
		cost -= bonus
	}
	switch {
	case strings.ContainsAny(word[:1], "(['`\""):
		cost -= bonus
	case from == len(words)-1:
		cost += orphan / (len(word) + 2)
	}
	return cost
}
