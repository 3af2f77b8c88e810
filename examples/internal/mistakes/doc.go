// Package mistakes has a table of the most common mistakes of users of this module's programs, and
// of the messages that they get on a terminal. It is only for tests.
//
//	func TestMistakes(t *testing.T) {
//		mistakes.Test(t, "pmcd", func(args []string) int { return run(args, os.Stderr) })
//	}
//
// Each message says what is wrong, where, and what to do.
package mistakes
