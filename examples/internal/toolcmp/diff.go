package toolcmp

import (
	"fmt"
	"strings"
)

// contextLines is the number of equal lines that a difference has before and after the lines that
// differ.
const contextLines = 2

// mostCompared is the maximum size of the table for a comparison by lines.
const mostCompared = 4 << 20

// diff returns the difference of two texts: lines only in want are marked "-" and lines only in got
// "+". Long runs of common lines are left out. It is empty if the texts are equal.
func diff(want, got string) string {
	if want == got {
		return ""
	}
	a, b := splitLines(want), splitLines(got)
	if len(a)*len(b) > mostCompared {
		return firstDifference(want, got) + "\n"
	}
	var marked []string
	i, j := 0, 0
	for common := commonLengths(a, b); i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			marked = append(marked, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			marked = append(marked, "- "+a[i])
			i++
		default:
			marked = append(marked, "+ "+b[j])
			j++
		}
	}
	return shorten(marked)
}

// splitLines splits a text into lines. It marks a last line that has no newline.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	text, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	if !ended {
		lines[len(lines)-1] += " (no newline)"
	}
	return lines
}

// commonLengths returns the length of the longest common subsequence of a[i:] and b[j:] for every i
// and j.
func commonLengths(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	n[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		n[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}

// shorten removes equal lines that are not near a line that differs.
func shorten(marked []string) string {
	near := make([]bool, len(marked))
	for i, line := range marked {
		if line[0] != ' ' {
			for k := max(0, i-contextLines); k <= min(len(marked)-1, i+contextLines); k++ {
				near[k] = true
			}
		}
	}
	var out strings.Builder
	left := 0
	for i, line := range marked {
		if !near[i] {
			left++
			continue
		}
		if left > 0 {
			fmt.Fprintf(&out, "  … %d lines\n", left)
			left = 0
		}
		out.WriteString(line + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&out, "  … %d lines\n", left)
	}
	return out.String()
}
