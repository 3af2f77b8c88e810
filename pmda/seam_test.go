package pmda

// InstallFilesOf returns the files that the option --install writes, for the tests in package
// pmda_test.
func InstallFilesOf(a *Agent) ([]InstallFile, error) { return a.installFiles() }
