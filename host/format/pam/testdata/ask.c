/* Asks libpam, for tests: reads names of services, one a line, whose files are
 * in the folder argv[1], for user argv[2] (nobody), and prints what pam_authenticate, pam_acct_mgmt and
 * pam_open_session return, or what pam_start does where it fails. Each is asked
 * in a process of its own: some mistakes make libpam 1.5.2 crash. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <security/pam_appl.h>

static int conv(int n, const struct pam_message **m, struct pam_response **r, void *data)
{
	return PAM_CONV_ERR;
}

static void ask(const char *name, const char *dir, const char *user)
{
	struct pam_conv talk = {conv, 0};
	pam_handle_t *h;
	int r = pam_start_confdir(name, user, &talk, dir, &h);

	if (r != PAM_SUCCESS) {
		printf("%s %d %d %d\n", name, r, r, r);
		return;
	}
	int auth = pam_authenticate(h, PAM_SILENT);
	int acct = pam_acct_mgmt(h, PAM_SILENT);
	printf("%s %d %d %d\n", name, auth, acct, pam_open_session(h, PAM_SILENT));
}

int main(int argc, char **argv)
{
	char name[256];

	while (fgets(name, sizeof name, stdin)) {
		int status;
		name[strcspn(name, "\n")] = 0;
		pid_t p = fork();
		if (p == 0) {
			ask(name, argv[1], argc > 2 ? argv[2] : "nobody");
			fflush(stdout);
			_exit(0);
		}
		if (p < 0 || waitpid(p, &status, 0) < 0)
			return 1;
		if (!WIFEXITED(status)) {
			printf("%s crashed\n", name);
			fflush(stdout);
		}
	}
	return 0;
}
