// Package shortlist writes lists that may be long, for messages.
package shortlist

import (
	"fmt"
	"strings"
)

// Most is how many elements of a list are written.
const Most = 5

// Of is the list of n elements, such as "a, b, c, d, e and 7 more".
func Of(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range min(n, Most) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(element(i))
	}
	if n > Most {
		fmt.Fprintf(&b, " and %d more", n-Most)
	}
	return b.String()
}
