package pcptest

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

// Oracle asks the C library questions about one subject, such as "units" or "extract", and returns
// an answer for each. testdata/oracle.c has the subjects and says how questions and answers look.
// The program is built once per test process.
func Oracle(t testing.TB, subject string, questions []string) []string {
	t.Helper()
	program := buildC(t, "oracle", "-lpcp")
	text, errs, status := Run(t, nil, strings.Join(questions, "\n")+"\n", program, subject)
	if status != 0 || errs != "" {
		t.Fatalf("oracle %s: exit status %d, %s", subject, status, tail(errs))
	}
	answers := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(answers) != len(questions) {
		t.Fatalf("oracle %s: %d answers to %d questions", subject, len(answers), len(questions))
	}
	return answers
}

var (
	oracleEvery = flag.Int("oracle.every", 50, "compare one of `n` random inputs with the C library; 1 for all, a million of them")
	oracleSeed  = flag.Uint64("oracle.seed", 1, "draw the random inputs of this seed; 0 for another at each time")
)

// Inputs returns what random inputs for the oracle are drawn from, and how many to draw: all of
// them, or, without the flag -oracle.every=1, some.
func Inputs(t testing.TB, all int) (*rand.Rand, int) {
	t.Helper()
	seed, n := *oracleSeed, max(1, all / *oracleEvery)
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("%d of %d inputs, -oracle.seed=%d", n, all, seed)
	return rand.New(rand.NewPCG(seed, uint64(all))), n
}
