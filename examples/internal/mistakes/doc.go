// Package mistakes has the mistakes that users make most often with the programs of this module, in
// one table, and the messages that they get on a terminal. It is for tests alone.
//
//	func TestMistakes(t *testing.T) {
//		mistakes.Test(t, "pmcd", func(args []string) int { return run(args, os.Stderr) })
//	}
//
// Each message says what is wrong, where, and what to do.
package mistakes
