// Package record makes recordings on the fly: the record mode of monitoring tools. A Session
// records one or more hosts, each into its own archive, until it is stopped.
//
//	s, err := record.Create("monday.folio", record.Options{Creator: "mytool"})
//	if err != nil {
//		return err
//	}
//	defer s.Close() // stops the loggers; the archives are complete
//	web, err := s.Add(record.Host{Name: "web1",
//		Config: "log mandatory on every 5 sec { kernel.all.load disk.dev }"})
//	if err != nil {
//		return err
//	}
//	if err := s.Start(ctx); err != nil {
//		return err
//	}
//	time.Sleep(time.Minute)
//	st, err := web.Status() // size and elapsed time; an error if the logger has ended
//
// Logger.Archive is the base name of an archive, for pmapi.Open. A host that cannot be reached ends
// its logger, not Start: see Logger.Done and Logger.Err.
//
// # Replay the recording
//
// The folio is a small file that names the archives. pmafm(1) lists and checks the archives of a
// folio, and runs tools on them:
//
//	pmafm monday.folio list
//	pmafm monday.folio run pmval -z -t 2sec kernel.all.load
//
// With Options.Replay, pmafm can run the creator of the recording, with the configuration that the
// program wrote to Session.Replay.
//
// # Loggers
//
// Each host has a [Logger]. It runs in this process, on package archive/logger. Options.Dial then
// connects it with the host, or with a source in this process.
//
// With Options.Program, each logger is a separate process, as in the C library: pmlogger(1), or a
// program that takes the same options. Programs are controlled through a pipe. A program that is
// detached continues after its launcher ends.
//
// # Files
//
// All files are in the directory of the folio. BASE is six characters that make the names unique.
// If a host has several loggers, BASE of the second and later ones ends with a letter from a to z.
//
//	BASE                         the configuration for replay, if there is one
//	BASE.HOST.config             what is recorded of a host
//	BASE.HOST.log                the log of its logger
//	BASE.HOST.{index,meta,0}     the archive
//
// # Differences from the C library
//
//   - A program may have several sessions at a time.
//   - The replay configuration is kept. The C library removes it before it can be used.
//   - A second default host is an error. The C library loses one of the two from the folio.
//   - A host may be the path of a socket. File names have _ in place of its slashes.
//   - A command cannot carry a message for a dialog, because pmlogger ends when it gets one.
//
// # Names in the C library
//
//	pmRecordSetup                   Create, with Session.Replay for the stream
//	pmRecordAddHost                 Session.Add
//	pmRecordControl PM_REC_SETARG   Options.Args, Host.Args
//	pmRecordControl PM_REC_ON       Session.Start
//	pmRecordControl PM_REC_STATUS   Logger.Status, Session.Status
//	pmRecordControl PM_REC_OFF      Logger.Stop, Session.Stop
//	pmRecordControl PM_REC_DETACH   Logger.Detach, Session.Detach
//	pmRecordHost                    Logger: Done (fd_ipc), Err (status), LogFile and PID
package record
