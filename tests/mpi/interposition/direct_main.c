// SPDX-License-Identifier: Apache-2.0
/* The plugin's code in a program of the usual kind. */
int run(int argc, char** argv);
int main(int argc, char** argv) { return run(argc, argv); }
