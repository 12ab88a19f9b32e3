/* skind call OPERATION: one operation on standard input, without a socket.
 * It is the same operation that the daemon serves; nothing is computed here. */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

/* The arguments after "call". Returns the process's exit status. */
int call_main(int argc, char *const *argv);

#endif
