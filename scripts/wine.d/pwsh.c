/* In the place of PowerShell, which wine has not: gives what comes after -Command to cmd, and ends as that does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <process.h>

int main(int argc, char **argv)
{
    static char line[32768];
    int at = 1;
    while (at < argc && _stricmp(argv[at], "-Command") != 0)
        at++;
    if (at + 1 >= argc) {
        fputs("pwsh: no -Command\n", stderr);
        return 64;
    }
    if (snprintf(line, sizeof line, "%s", argv[at + 1]) >= (int)sizeof line)
        return 65;
    return (int)_spawnlp(_P_WAIT, "cmd.exe", "cmd.exe", "/d", "/c", line, NULL);
}
