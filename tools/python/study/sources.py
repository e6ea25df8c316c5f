"""What the three theses and two course reports measured that cernita's operators grew from, on their machines."""

# Diamond-square 8193 x 8193, i5-8600K: seconds by threads.
DIAMOND_SQUARE_S = {1: 1.744, 2: 0.883, 3: 0.592, 4: 0.450, 5: 0.362, 6: 0.319}

# Opening 11 x 11 of RGB 1920 x 2560, i5-8600K: seconds by threads.
OPENING_S = {1: 2.072, 6: 0.371}

# Haar, ms with transfers: (height, width, levels): (host, CUDA with copies between levels, CUDA without).
HAAR_MS = {
    (250, 256, 1): (4.22, 1.06, 0.29),
    (256, 256, 8): (5.19, 3.65, 0.46),
    (512, 512, 9): (21.6, 8.46, 1.46),
    (400, 600, 3): (21.2, 6.89, 0.93),
    (600, 800, 3): (43.7, 12.5, 1.33),
    (1700, 1000, 2): (140, 40.1, 3.27),
    (1800, 2880, 3): (458, 108, 10.2),
}

# One map of 511 x 95: ms of skimage, of which joining; the thesis' CUDA, not joined (GTX 1050 Ti).
CONTOURS_MS = {"real": (1.193, 0.630, 0.284), "artificial": (2.102, 1.288, 0.310)}

# Ranklet, whole pyramid, seconds by side: plain, counting (IDC) on 1 core, on 12, CUDA (2 x Xeon X5650, Tesla X2090).
RANKLET_S = {
    256: (30.0, 0.37, 0.051, 1.2),
    512: (528, 1.4, 0.30, 1.7),
    1024: (8913, 6.4, 1.1, 4.0),
    2048: (None, 41.4, 5.9, 11.9),
    4096: (None, 280, 36.7, 42.6),
    8192: (None, None, 249, 178),
    16384: (None, None, 1661, 1131),
}
RANKLET_SPEEDUP_12 = {512: 4.66, 1024: 5.34, 2048: 6.90, 4096: 7.65}

# Convolution of 4K in Java on a Ryzen 5 3500U, seconds: 7 x 7 on 1 and 6 threads; by rows with 3, 5, 7.
CONVOLVE_S = {1: 14.2, 6: 4.38}
CONVOLVE_ROWS_S = {3: 1.10, 5: 1.63, 7: 2.91}
