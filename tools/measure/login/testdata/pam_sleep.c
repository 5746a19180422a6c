/* A PAM module that sleeps: pam_sleep.so MILLISECONDS. */
#include <stdlib.h>
#include <unistd.h>
#include <security/pam_modules.h>

static int nap(int argc, const char **argv)
{
	if (argc > 0)
		usleep(1000 * atoi(argv[0]));
	return PAM_SUCCESS;
}

int pam_sm_authenticate(pam_handle_t *h, int f, int c, const char **v) { return PAM_SUCCESS; }
int pam_sm_setcred(pam_handle_t *h, int f, int c, const char **v) { return f & PAM_ESTABLISH_CRED ? nap(c, v) : PAM_SUCCESS; }
int pam_sm_acct_mgmt(pam_handle_t *h, int f, int c, const char **v) { return nap(c, v); }
int pam_sm_open_session(pam_handle_t *h, int f, int c, const char **v) { return nap(c, v); }
int pam_sm_close_session(pam_handle_t *h, int f, int c, const char **v) { return PAM_SUCCESS; }
