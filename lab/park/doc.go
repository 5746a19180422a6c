// Package park checks fettle on hosts that it did not make itself: releases of
// Debian and Ubuntu and what their packages set up, booted with systemd as PID 1.
//
// A host is a recipe (hosts/NAME.yaml) over a base image. It boots as a
// container (systemd-nspawn) and, where the recipe says so, as a machine with
// a kernel of its own (User-Mode Linux). On the booted host a script runs
// fettle as an admin would, captures the host, and runs the distribution's sos
// report. What each run reports is compared with expected/NAME.yaml, which
// gives a reason for each finding, each unknown and each clear: anything else
// fails. So do a capture whose replay says something else, with or without
// redaction, more than one screen of output, and a trap that fettle why sees in
// the host's whole journal.
//
// Images are built once and kept in the user's cache folder; a host's layer
// is an overlay over its base. The package runs fettle as a program and reads
// its JSON: it imports nothing that checks.
package park
