/* The Python package as users have it: its wheel, installed into a fresh virtual environment, where
 * scikit-image's own tests are run against it, and those of tests/python. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/sanitized.h"

#define TESTS       CRN_TEST_DATA "/python"
#define HAS(module) "/usr/bin/python3 -c 'import " module "' 2>/dev/null"

/* A library built with a sanitizer cannot be loaded into a program without it. */
#ifdef CRN_SANITIZED
#define LOADS false
#else
#define LOADS true
#endif

static char folder[] = "/tmp/cernita-package-XXXXXX";
static bool is_installed;

/* Runs a shell command in the folder; what it prints is shown if it fails. */
static int run(const char *command)
{
    char line[2048];
    snprintf(line, sizeof line,
             "cd %s && export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" TESTS
             "/peers && unset CRN_LIBRARY"
             " && { %s; } >log 2>&1 || { status=$?; tail -n 40 log; exit $status; }",
             folder, command);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    if (LOADS && system(HAS("numpy, pip, venv")) == 0) {
        char command[256];
        snprintf(command, sizeof command, TESTS "/install_wheel " CRN_BIN "/.. %s", folder);
        is_installed = true;
        return run(command);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Skips the test where there is no wheel, or Debian's Python has not what it needs. */
static void need(const char *has)
{
    if (!is_installed || system(has) != 0)
        skip();
}

static void scikit_images_own_tests_pass(void **state)
{
    (void)state;
    need(HAS("pytest, skimage"));
    assert_int_equal(run("tests=$(venv/bin/python -c 'import skimage.measure.tests as t;"
                         "print(t.__path__[0])')/test_find_contours.py;"
                         "venv/bin/python -m pytest -q -p no:cacheprovider -p skimage_tests -rs "
                         "--rootdir=. $tests && ! grep -q skipped log"),
                     0);
}

static void scipys_own_tests_of_grey_morphology_pass(void **state)
{
    (void)state;
    need(HAS("pytest, scipy"));
    assert_int_equal(run("tests=$(venv/bin/python -c 'import scipy.ndimage.tests as t;"
                         "print(t.__path__[0])')/test_morphology.py;"
                         "venv/bin/python -m pytest -q -p no:cacheprovider -p scipy_tests -rx "
                         "--rootdir=. $tests"),
                     0);
}

static void pywavelets_own_tests_of_two_dimensions_pass(void **state)
{
    (void)state;
    need(HAS("pytest, pywt"));
    /* They are part of no package of Debian, but of its source. */
    if (run(TESTS "/peers/fetch_pywavelets_tests " CRN_BIN "/../pywavelets-tests"))
        skip();
    assert_int_equal(run("venv/bin/python -m pytest -q -p no:cacheprovider -p pywavelets_tests -rx "
                         "--rootdir=. " CRN_BIN "/../pywavelets-tests/test_multi*.py"),
                     0);
}

/* Random cases against a peer. */
static void compare(const char *has, const char *peer)
{
    char command[256];
    need(has);
    snprintf(command, sizeof command,
             "venv/bin/python " TESTS "/peers/compare_%s.py && grep -qx \"all as the peer's\" log",
             peer);
    assert_int_equal(run(command), 0);
}

static void morphology_is_that_of_scipy(void **state)
{
    (void)state;
    compare(HAS("scipy"), "ndimage");
}

static void morphology_and_filters_are_those_of_opencv(void **state)
{
    (void)state;
    compare(HAS("cv2"), "opencv");
}

static void wavelets_are_those_of_pywavelets(void **state)
{
    (void)state;
    compare(HAS("pywt"), "wavelets");
}

static void contours_are_those_of_scikit_image(void **state)
{
    (void)state;
    need(HAS("skimage"));
    assert_int_equal(run("venv/bin/python " TESTS "/peers/compare_skimage.py &&"
                         " grep -qx 'all as skimage' log"),
                     0);
}

static void operators_name_wrong_arguments(void **state)
{
    (void)state;
    need("true");
    assert_int_equal(run("venv/bin/python " TESTS "/check_operator_faults.py &&"
                         " grep -qx 'all named' log"),
                     0);
}

static void examples_in_docstrings_are_right(void **state)
{
    (void)state;
    need("true");
    assert_int_equal(run("venv/bin/python " TESTS "/run_doctests.py"), 0);
}

/* It lies beside a package whose library was not built. */
static void the_gallery_is_drawn_by_the_installed_package(void **state)
{
    (void)state;
    need(HAS("matplotlib"));
    assert_int_equal(
        run("mkdir -p tree/tools && cp -r " TESTS "/../../tools/python tree/tools &&"
            " venv/bin/python tree/tools/python/gallery.py pictures &&"
            " test $(ls pictures/*.png | wc -l) -eq $(grep -c '^##' pictures/index.md)"),
        0);
}

/* Of the package as a program that uses it sees it, by py.typed. */
static void type_hints_are_complete(void **state)
{
    (void)state;
    need(HAS("mypy"));
    assert_int_equal(run("venv/bin/python -m mypy --strict --python-executable venv/bin/python "
                         "--cache-dir cache -p cernita"),
                     0);
    assert_int_equal(run("venv/bin/python " TESTS "/check_types.py"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scikit_images_own_tests_pass),
        cmocka_unit_test(contours_are_those_of_scikit_image),
        cmocka_unit_test(scipys_own_tests_of_grey_morphology_pass),
        cmocka_unit_test(pywavelets_own_tests_of_two_dimensions_pass),
        cmocka_unit_test(morphology_is_that_of_scipy),
        cmocka_unit_test(morphology_and_filters_are_those_of_opencv),
        cmocka_unit_test(wavelets_are_those_of_pywavelets),
        cmocka_unit_test(operators_name_wrong_arguments),
        cmocka_unit_test(examples_in_docstrings_are_right),
        cmocka_unit_test(type_hints_are_complete),
        cmocka_unit_test(the_gallery_is_drawn_by_the_installed_package),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
