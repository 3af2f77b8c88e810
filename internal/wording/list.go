package wording

import (
	"fmt"
	"strings"
)

// maxListed is how many elements List names.
const maxListed = 5

// List returns the first five of n elements as text, and how many there are besides: "a, b, c, d, e
// and 7 more".
func List(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range min(n, maxListed) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(element(i))
	}
	if n > maxListed {
		fmt.Fprintf(&b, " and %d more", n-maxListed)
	}
	return b.String()
}
