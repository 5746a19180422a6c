package guest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// shell opens a shell on the console's own terminal and waits for its end.
// /dev/console itself cannot be a controlling terminal, which job control and
// Ctrl-C need.
func shell(dev string) {
	con, err := os.OpenFile(dev, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		fmt.Println("fettle lab: opening the console:", err)
		return
	}
	defer con.Close()
	fmt.Fprint(con, "\r\nA throwaway machine. exit ends it.\r\n")
	cmd := exec.Command("/usr/bin/bash", "--norc", "-i")
	cmd.Env = append(os.Environ(), "TERM=linux", "PS1=lab# ")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = con, con, con
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(con, "fettle lab:", err)
	}
}
