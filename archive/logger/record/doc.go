// Package record makes recordings on the fly: the record mode of monitoring tools. A Session
// records one or more hosts, each into its own archive, until it is stopped.
//
//	s, err := record.Create("monday.folio", record.Options{Creator: "mytool"})
//	if err != nil {
//		return err
//	}
//	defer s.Close() // stops the loggers and completes the archives
//	web, err := s.Add(record.Host{Name: "web1",
//		Config: "log mandatory on every 5 sec { kernel.all.load disk.dev }"})
//	if err != nil {
//		return err
//	}
//	if err := s.Start(ctx); err != nil {
//		return err
//	}
//	time.Sleep(time.Minute)
//	st, err := web.Status() // size and elapsed time; fails if the logger has ended
//
// Logger.Archive is the base name of an archive, for pmapi.Open. If a host cannot be reached, Start
// succeeds but the logger ends: see Logger.Done and Logger.Err.
//
// # Replay the recording
//
// The folio is a small file that names the archives. pmafm(1) lists and checks the archives of a
// folio, and runs tools on them:
//
//	pmafm monday.folio list
//	pmafm monday.folio run pmval -z -t 2sec kernel.all.load
//
// With Options.Replay, pmafm can also run the creator of the recording, with the configuration that
// it wrote to Session.Replay.
//
// # Loggers
//
// Each host has a [Logger]. By default it runs in this process, with package archive/logger.
// Options.Dial connects it to the host, or to a source in this process.
//
// With Options.Program, each logger is a separate process, as in the C library: pmlogger(1), or a
// program with the same options. A pipe controls it. A detached program continues after its
// launcher ends.
//
// # Files
//
// All files are in the directory of the folio. BASE is six characters that make the names unique.
// If a host has several loggers, a letter from a to z follows BASE for all but the first.
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
//   - A host may be the path of a socket. In file names, _ replaces its slashes.
//   - Commands have no message for a dialog, because it makes pmlogger end.
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
