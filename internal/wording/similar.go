// Package wording words parts of messages: long lists, names of types, and corrections of misspelt
// words.
package wording

import "slices"

// Limits of a search for similar words.
const (
	maxSimilar = 3   // words in a result
	maxLength  = 256 // bytes of a word that is compared with others
)

// Similar returns the words with the fewest typing errors, compared with a misspelt one. It returns
// nil if they have more than one error for each four letters, or more than three.
func Similar(word string, words []string) []string {
	if word == "" || len(word) > maxLength {
		return nil
	}
	limit := min(max(len(word)/4, 1), 3)
	var near []string
	for _, w := range words {
		switch d := distance(word, w, limit); {
		case d > limit:
		case d < limit:
			limit, near = d, []string{w}
		default:
			near = append(near, w)
		}
	}
	slices.Sort(near)
	return near[:min(len(near), maxSimilar)]
}

// distance counts the typing errors between two words: a letter more, a letter less, another
// letter, or two letters exchanged. The result is limit + 1 if there are more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		twoAgo, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAgo[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		rows[0], rows[1], rows[2] = last, row, twoAgo
	}
	return min(rows[1][len(b)], limit+1)
}
